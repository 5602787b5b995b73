#include "worker/shim/stop_policy.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

using Action = StopPolicy::Action;

MonoTime at(double seconds) {
    return {static_cast<std::int64_t>(seconds * 1e9)};
}

const OrphanPolicy kKeep{.mode = OrphanMode::keep};
const OrphanPolicy kStop{.mode = OrphanMode::stop, .timeout = {20}, .grace = {60}};

TEST(StopPolicy, TerminatesOnceThenKillsOnceAfterTheGrace) {
    StopPolicy policy(kKeep, at(0));
    EXPECT_EQ(policy.next(at(1)), Action::none);
    EXPECT_FALSE(policy.wait(at(1)));
    policy.stop(StopMode::graceful, Seconds{10}, at(2));
    EXPECT_EQ(policy.next(at(2)), Action::terminate);
    EXPECT_EQ(policy.next(at(2)), Action::none);
    EXPECT_DOUBLE_EQ(policy.wait(at(5))->value, 7);
    EXPECT_EQ(policy.next(at(11.9)), Action::none);
    EXPECT_EQ(policy.next(at(12)), Action::kill);
    EXPECT_EQ(policy.next(at(99)), Action::none);
    EXPECT_EQ(policy.kill_reason(), "it did not stop within 10.0 s");
}

TEST(StopPolicy, ASecondGracefulStopCanOnlyShortenTheGrace) {
    StopPolicy policy(kKeep, at(0));
    policy.stop(StopMode::graceful, Seconds{10}, at(0));
    policy.next(at(0));
    policy.stop(StopMode::graceful, Seconds{100}, at(1));
    EXPECT_DOUBLE_EQ(policy.wait(at(1))->value, 9);
    policy.stop(StopMode::graceful, Seconds{2}, at(1));
    EXPECT_EQ(policy.next(at(1)), Action::none);
    EXPECT_EQ(policy.next(at(3)), Action::kill);
}

TEST(StopPolicy, NowKillsWithoutTerminating) {
    StopPolicy policy(kKeep, at(0));
    policy.stop(StopMode::graceful, Seconds{100}, at(0));
    policy.stop(StopMode::now, {}, at(0));
    EXPECT_EQ(policy.next(at(0)), Action::kill);
    EXPECT_EQ(policy.next(at(0)), Action::none);
}

TEST(StopPolicy, StopsWhenNoDaemonHasBeenThereForTheTimeout) {
    StopPolicy policy(kStop, at(0));
    policy.daemons_connected(1, at(5));
    EXPECT_EQ(policy.next(at(1000)), Action::none);
    EXPECT_FALSE(policy.wait(at(1000)));
    policy.daemons_connected(0, at(1000));
    policy.daemons_connected(0, at(1010));
    EXPECT_DOUBLE_EQ(policy.wait(at(1010))->value, 10);
    EXPECT_EQ(policy.next(at(1020)), Action::terminate);
    EXPECT_EQ(policy.next(at(1080)), Action::kill);
}

TEST(StopPolicy, ADaemonThatReturnsInTimeChangesNothing) {
    StopPolicy policy(kStop, at(0));
    policy.daemons_connected(1, at(19));
    EXPECT_EQ(policy.next(at(25)), Action::none);
}

TEST(StopPolicy, KeptRanksOutliveTheirDaemon) {
    StopPolicy policy(kKeep, at(0));
    EXPECT_EQ(policy.next(at(1e6)), Action::none);
    EXPECT_FALSE(policy.wait(at(1e6)));
}

}  // namespace
}  // namespace rm
