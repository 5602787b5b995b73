#include "worker/session/outbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace rm {
namespace {

TEST(WorkerOutbox, KeepsOrderAndReplacesWhatIsOutdated) {
    WorkerOutbox outbox;
    outbox.push(AttemptStatus{.epoch = {1}});
    outbox.push(AttemptStatus{.epoch = {2}});
    outbox.push(Pong{1});
    outbox.push(AttemptStatus{.epoch = {1}, .stages_done = 3});
    outbox.push(Pong{2});
    outbox.push(CommandRefused{{7}, "no"});
    outbox.push(CommandRefused{{7}, "no"});
    EXPECT_EQ(std::get<AttemptStatus>(*outbox.pop()).stages_done, 3);
    EXPECT_EQ(std::get<AttemptStatus>(*outbox.pop()).epoch, Epoch{2});
    EXPECT_EQ(std::get<Pong>(*outbox.pop()).nonce, 2u);
    EXPECT_TRUE(std::holds_alternative<CommandRefused>(*outbox.pop()));
    EXPECT_TRUE(std::holds_alternative<CommandRefused>(*outbox.pop()));
}

TEST(WorkerOutbox, CloseFreesTheOneWhoWaits) {
    WorkerOutbox outbox;
    std::thread closer([&] { outbox.close(); });
    EXPECT_FALSE(outbox.pop().has_value());
    closer.join();
    outbox.push(Pong{1});
    EXPECT_FALSE(outbox.pop().has_value());
}

}  // namespace
}  // namespace rm
