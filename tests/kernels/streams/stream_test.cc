#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/device.h"

namespace rm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StreamTest : public ::testing::Test {
protected:
    std::unique_ptr<Device> device_ = make_host_device();
    std::unique_ptr<Stream> a_ = device_->make_stream("a");
    std::unique_ptr<Stream> b_ = device_->make_stream("b");
    std::unique_ptr<Event> event_ = device_->make_event();
};

// Work that blocks until the test opens the gate.
class Gate {
public:
    void queue_on(Stream& stream) {
        stream.enqueue("gate", [open = open_.get_future().share()] { open.wait(); });
    }
    void open() { open_.set_value(); }

private:
    std::promise<void> open_;
};

std::string error_of(Stream& stream) {
    try {
        stream.synchronize();
    } catch (const StreamError& error) {
        return error.what();
    }
    return "";
}

void fail_on(Stream& stream, const std::string& op, const std::string& message) {
    stream.enqueue(op, [message] { throw std::runtime_error(message); });
}

TEST_F(StreamTest, PlaysWorkInOrder) {
    std::vector<int> played;
    for (int i = 0; i < 1000; ++i)
        a_->enqueue("append", [&, i] { played.push_back(i); });
    a_->synchronize();
    ASSERT_EQ(played.size(), 1000U);
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(played[static_cast<std::size_t>(i)], i);
}

TEST_F(StreamTest, IsAsynchronousToTheHost) {
    Gate gate;
    gate.queue_on(*a_);
    std::atomic<bool> played = false;
    a_->enqueue("later", [&] { played = true; });
    EXPECT_FALSE(played);  // would have hung if enqueue waited
    gate.open();
    a_->synchronize();
    EXPECT_TRUE(played);
}

TEST_F(StreamTest, SynchronizeOfAnIdleStreamReturns) {
    a_->synchronize();
    a_->synchronize();
}

TEST_F(StreamTest, WaitsForARecordedEvent) {
    Gate gate;
    int value = 0;
    int seen = 0;
    gate.queue_on(*a_);
    a_->enqueue("write", [&] { value = 42; });
    a_->record(*event_);
    b_->wait(*event_);
    b_->enqueue("read", [&] { seen = value; });
    gate.open();
    b_->synchronize();
    EXPECT_EQ(seen, 42);
}

TEST_F(StreamTest, AWaitOnAnEventNeverRecordedIsNone) {
    b_->wait(*event_);
    b_->synchronize();
}

TEST_F(StreamTest, AWaitRefersToTheLatestRecordBeforeIt) {
    Gate late;
    a_->record(*event_);
    b_->wait(*event_);
    late.queue_on(*a_);
    a_->record(*event_);  // after the wait: b does not wait for it
    b_->synchronize();
    std::atomic<bool> opened = false;
    bool seen = false;
    b_->wait(*event_);
    b_->enqueue("read", [&] { seen = opened; });
    opened = true;
    late.open();
    b_->synchronize();
    EXPECT_TRUE(seen);
}

TEST_F(StreamTest, ARecordOnAnotherStreamDoesNotReleaseAnEarlierWait) {
    const auto c = device_->make_stream("c");
    Gate slow;
    std::atomic<bool> opened = false;
    bool seen = false;
    slow.queue_on(*a_);
    a_->record(*event_);
    c->wait(*event_);
    c->enqueue("read", [&] { seen = opened; });
    b_->record(*event_);
    b_->synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    opened = true;
    slow.open();
    c->synchronize();
    EXPECT_TRUE(seen);
}

TEST_F(StreamTest, AnEventMayGoBeforeItsRecordIsReached) {
    Gate gate;
    bool played = false;
    gate.queue_on(*a_);
    a_->record(*event_);
    b_->wait(*event_);
    b_->enqueue("after", [&] { played = true; });
    event_.reset();
    gate.open();
    b_->synchronize();
    EXPECT_TRUE(played);
}

TEST_F(StreamTest, AnErrorNamesTheOpAndTheMessageEachTime) {
    fail_on(*a_, "attention_fwd", "q has 3 heads");
    fail_on(*a_, "linear_fwd", "never played");
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(error_of(*a_), AllOf(HasSubstr("attention_fwd"), HasSubstr("q has 3 heads"),
                                         HasSubstr("stream a")));
    }
}

TEST_F(StreamTest, WorkAfterAnErrorIsSkipped) {
    bool played = false;
    fail_on(*a_, "first", "broken");
    a_->enqueue("second", [&] { played = true; });
    EXPECT_NE(error_of(*a_), "");
    a_->enqueue("third", [&] { played = true; });
    EXPECT_NE(error_of(*a_), "");
    EXPECT_FALSE(played);
}

TEST_F(StreamTest, EventsCompleteAfterAnErrorAndOtherStreamsGoOn) {
    bool played = false;
    fail_on(*a_, "first", "broken");
    a_->record(*event_);
    b_->wait(*event_);
    b_->enqueue("after", [&] { played = true; });
    EXPECT_EQ(error_of(*b_), "");
    EXPECT_TRUE(played);
    EXPECT_NE(error_of(*a_), "");
}

TEST_F(StreamTest, AFailedStreamStillHonoursWaits) {
    const auto c = device_->make_stream("c");
    const auto relay = device_->make_event();
    Gate slow;
    std::atomic<bool> opened = false;
    bool seen = false;
    fail_on(*a_, "first", "broken");
    slow.queue_on(*b_);
    b_->record(*event_);
    a_->wait(*event_);
    a_->record(*relay);
    c->wait(*relay);
    c->enqueue("read", [&] { seen = opened; });
    EXPECT_EQ(error_of(*device_->make_stream("unrelated")), "");
    opened = true;
    slow.open();
    c->synchronize();
    EXPECT_TRUE(seen) << "c relied, through a, on what a waited for";
}

TEST_F(StreamTest, ExceptionsOfAnyTypeBecomeErrors) {
    a_->enqueue("odd", [] { throw 7; });  // NOLINT(hicpp-exception-baseclass)
    EXPECT_THAT(error_of(*a_), HasSubstr("odd"));
}

TEST_F(StreamTest, WorkMayNotSynchronizeItsOwnStream) {
    a_->enqueue("inward", [&] { a_->synchronize(); });
    EXPECT_THAT(error_of(*a_), HasSubstr("cannot be synchronized by work queued on it"));
}

TEST_F(StreamTest, WorkMayQueueMoreWork) {
    int played = 0;
    a_->enqueue("outer", [&] { b_->enqueue("inner", [&] { ++played; }); });
    a_->synchronize();
    b_->synchronize();
    EXPECT_EQ(played, 1);
}

TEST_F(StreamTest, ItsDestructorPlaysWhatIsLeft) {
    Gate gate;
    std::atomic<int> played = 0;
    gate.queue_on(*b_);
    b_->record(*event_);
    a_->wait(*event_);
    for (int i = 0; i < 10; ++i)
        a_->enqueue("count", [&] { ++played; });
    std::thread opener([&] { gate.open(); });
    a_.reset();
    EXPECT_EQ(played, 10);
    opener.join();
}

TEST_F(StreamTest, ItsDestructorSwallowsAnErrorNobodyAskedFor) {
    fail_on(*a_, "last", "unseen");
    a_.reset();
}

TEST_F(StreamTest, WhatWorkCapturedIsGoneWhenSynchronizeReturns) {
    // The test shares it to look at the count.
    const auto captured = std::make_shared<int>(0);
    a_->enqueue("hold", [captured] { ++*captured; });
    a_->synchronize();
    EXPECT_EQ(captured.use_count(), 1);
}

TEST_F(StreamTest, SeveralThreadsMayQueueAndSynchronize) {
    std::atomic<int> played = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 50; ++j) {
                a_->enqueue("count", [&] { ++played; });
                if (j % 10 == 0) a_->synchronize();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    a_->synchronize();
    EXPECT_EQ(played, 200);
}

}  // namespace
}  // namespace rm
