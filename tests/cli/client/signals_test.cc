#include "cli/client/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace rm {
namespace {

TEST(Signals, StopTheTokenAndAreHandedOutOnce) {
    Signals signals;
    const std::stop_token token = signals.token();
    EXPECT_FALSE(token.stop_requested());
    kill(getpid(), SIGINT);
    EXPECT_FALSE(sleep_for(Seconds{10}, token));
    EXPECT_EQ(signals.take().interrupts, 1);
    EXPECT_EQ(signals.take().interrupts, 0);
    EXPECT_FALSE(signals.token().stop_requested());
}

TEST(Signals, TellChildrenFromInterrupts) {
    Signals signals;
    const std::stop_token token = signals.token();
    kill(getpid(), SIGCHLD);
    sleep_for(Seconds{10}, token);
    const Signals::Arrived arrived = signals.take();
    EXPECT_EQ(arrived.interrupts, 0);
    EXPECT_EQ(arrived.child_changes, 1);
}

TEST(Signals, StayPendingUntilTaken) {
    Signals signals;
    kill(getpid(), SIGTERM);
    EXPECT_FALSE(sleep_for(Seconds{10}, signals.token()));
    EXPECT_TRUE(signals.token().stop_requested());
    signals.wait_for(Seconds{10});  // returns at once
    EXPECT_EQ(signals.take().interrupts, 1);
}

}  // namespace
}  // namespace rm
