#include <gtest/gtest.h>

#include "worker/core/worker_core.h"

// A worker that had forgotten its highest epoch started it a second time: a controller restored
// from before that attempt's end launches it again. Found by the simulation, scenario
// restore_old_backup, seed 242.
namespace rm {
namespace {

TEST(Regress0005, AForgottenEpochIsNotStartedAgain) {
    WorkerFacts facts{.node = {"n1"}, .cluster = {"c"}, .highest_epoch = {5}};
    facts.inventory.devices.push_back({.index = 0, .kind = "cpu"});
    WorkerCore core(facts);
    core.apply(SessionUp{});
    core.apply(Received{HelloReply{.cluster = {"c"}}});
    const auto outputs =
        core.apply(Received{LaunchAttempt{.epoch = {5}, .job = {"abc123"}, .ranks = {{0, 0}}}});
    ASSERT_EQ(outputs.size(), 1U);
    const auto& message = std::get<SendMessage>(outputs.front()).message;
    EXPECT_NE(std::get<CommandRefused>(message).reason.find("not newer than 5"), std::string::npos);
}

}  // namespace
}  // namespace rm
