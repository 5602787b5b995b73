// Tests a stream on top of a device; this device records the calls that its thread makes.
#include "kernels/queue_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Runs work at once and may report a fault later.
class RecordingBody final : public StreamBody {
public:
    explicit RecordingBody(std::vector<std::string>& calls, std::exception_ptr late = nullptr)
        : calls_(calls), late_(std::move(late)) {}
    void run(const std::function<void()>& work) override {
        calls_.emplace_back("run");
        work();
    }
    void call_host(std::function<void()> work) override {
        calls_.emplace_back("call_host");
        work();
    }
    void record(EventRecord& record) override {
        calls_.emplace_back("record");
        record.complete();
    }
    void wait(EventRecord& record) override {
        calls_.emplace_back("wait");
        record.wait();
    }
    std::exception_ptr finish() override { return late_; }

private:
    std::vector<std::string>& calls_;
    std::exception_ptr late_;
};

TEST(QueueStream, GivesItsBodyEverythingInOrder) {
    std::vector<std::string> calls;
    const auto event = make_host_event();
    QueueStream stream("gpu", std::make_unique<RecordingBody>(calls));
    stream.wait(*event);  // never recorded: nothing to wait for
    stream.enqueue("add", [] {});
    stream.call_host("mark", [] {});
    stream.record(*event);
    stream.wait(*event);
    stream.synchronize();
    EXPECT_THAT(calls, ElementsAre("run", "call_host", "record", "wait"));
}

TEST(QueueStream, SkipsHostCallsAfterAnError) {
    QueueStream stream("gpu");
    bool called = false;
    stream.enqueue("broken", [] { throw std::runtime_error("planted"); });
    stream.call_host("mark", [&] { called = true; });
    EXPECT_THROW(stream.synchronize(), StreamError);
    EXPECT_FALSE(called);
}

std::string error_of(QueueStream& stream) {
    try {
        stream.synchronize();
        return "";
    } catch (const StreamError& error) {
        EXPECT_NE(error.cause(), nullptr);
        return error.what();
    }
}

// The device finds a fault after the stream has handed it the op.
TEST(QueueStream, NamesTheLastOpWhenTheMachineFailsLater) {
    std::vector<std::string> calls;
    const auto fault = std::make_exception_ptr(std::runtime_error("illegal address"));
    QueueStream stream("gpu", std::make_unique<RecordingBody>(calls, fault));
    stream.enqueue("first", [] {});
    stream.enqueue("second", [] {});
    const std::string words = error_of(stream);
    EXPECT_THAT(words, HasSubstr("second, or an op before it, on stream gpu: illegal address"));
    stream.enqueue("third", [] {});
    EXPECT_EQ(error_of(stream), words) << "the first error stays";
}

TEST(QueueStream, KeepsTheErrorOfAnOpBeforeALaterFault) {
    std::vector<std::string> calls;
    const auto fault = std::make_exception_ptr(std::runtime_error("illegal address"));
    QueueStream stream("gpu", std::make_unique<RecordingBody>(calls, fault));
    stream.enqueue("launch", [] { throw std::runtime_error("too many threads"); });
    EXPECT_THAT(error_of(stream), HasSubstr("launch on stream gpu: too many threads"));
}

// A step over a long context has more items than fit in memory.
TEST(QueueStream, HoldsUpWhoeverQueuesFarAhead) {
    constexpr int kItems = 100'000;
    QueueStream stream("slow");
    std::promise<void> gate;
    stream.enqueue("gate", [opened = gate.get_future().share()] { opened.wait(); });
    std::atomic<int> queued = 0, played = 0;
    std::thread host([&] {
        for (int i = 0; i < kItems; ++i) {
            stream.enqueue("count", [&] { ++played; });
            ++queued;
        }
    });
    while (queued < 65'536)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LT(queued, 65'600);
    gate.set_value();
    host.join();
    stream.synchronize();
    EXPECT_EQ(played, kItems);
}

}  // namespace
}  // namespace rm
