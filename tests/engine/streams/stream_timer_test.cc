// The time a stream spends between two marks, as a sum and one by one.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "engine/streams/rank_streams.h"

namespace rm {
namespace {

TEST(StreamTimer, AddsUpIntervalsAndKeepsEachWhereAsked) {
    const auto device = make_host_device();
    const auto stream = device->make_stream("a");
    StreamTimer timer;
    const auto sleep = [&](int millis) {
        timer.begin(*stream);
        stream->enqueue(
            "sleep", [millis] { std::this_thread::sleep_for(std::chrono::milliseconds(millis)); });
        timer.end(*stream);
    };
    sleep(2);
    stream->synchronize();
    EXPECT_GE(timer.take(), 0.002);
    EXPECT_TRUE(timer.take_each().empty());
    timer.keep_each();
    sleep(5);
    sleep(0);
    stream->synchronize();
    const std::vector<double> each = timer.take_each();
    ASSERT_EQ(each.size(), 2u);
    EXPECT_GE(each[0], 0.005);
    EXPECT_NEAR(std::accumulate(each.begin(), each.end(), 0.0), timer.take(), 1e-9);
    EXPECT_TRUE(timer.take_each().empty());
}

}  // namespace
}  // namespace rm
