#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/worker/support.h"
#include "worker/agent/exchange_server.h"
#include "worker/rank/worker_exchange.h"
#include "worker/rank/worker_publish.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

// A controller of one worker: every rank there is on this node.
class OwnTable final : public Rendezvous {
public:
    ExchangeAnswer exchange(Epoch epoch, const std::string& group, const BlobsByRank& blobs,
                            std::stop_token stop) override {
        ++calls;
        while (hold && !stop.stop_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (stop.stop_requested()) return make_error(ErrorCode::cancelled, "stopped");
        if (epoch < newest) {
            return make_error(ErrorCode::failed_precondition, "epoch {} is not the newest", epoch);
        }
        std::vector<std::string> table;
        for (const auto& [rank, blob] : blobs)
            table.push_back(group + ":" + blob);
        return table;
    }
    Status publish(Epoch epoch, std::stop_token stop) override {
        ++publish_calls;
        while (hold && !stop.stop_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (stop.stop_requested()) return make_error(ErrorCode::cancelled, "stopped");
        if (epoch == newest) return {};
        return make_error(ErrorCode::failed_precondition, "epoch {} is not the newest", epoch);
    }
    std::atomic<int> calls = 0;
    std::atomic<int> publish_calls = 0;
    std::atomic<bool> hold = false;
    Epoch newest{1};
};

class ExchangeThroughTheWorker : public ::testing::Test {
protected:
    void start_server() {
        server_.reset();
        auto server = ExchangeServer::start(dir_.path(), {1}, {0, 1}, rendezvous_);
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_ = std::move(*server);
    }
    // Each rank on its own thread, as if it were a process.
    std::future<Result<std::vector<std::string>>> ask(int rank, std::string group, std::string blob,
                                                      Seconds timeout = Seconds{30}) {
        return std::async(std::launch::async, [=, this] {
            WorkerExchange exchange(dir_.path(), rank, stop_);
            return exchange.exchange(group, blob, timeout);
        });
    }

    Status ask_to_publish(Seconds limit = Seconds{20}) {
        return WorkerPublishGuard(dir_.path(), 0, stop_).may_publish(limit);
    }

    const TempDir dir_;
    OwnTable rendezvous_;
    std::atomic<bool> stop_ = false;
    std::unique_ptr<ExchangeServer> server_;
};

using Table = std::vector<std::string>;

TEST_F(ExchangeThroughTheWorker, GivesEveryRankTheTableOfOneCall) {
    start_server();
    auto first = ask(0, "all", std::string("a\0", 2));
    auto second = ask(1, "all", "b");
    const Table table = {std::string("all:a\0", 6), "all:b"};
    EXPECT_EQ(*first.get(), table);
    EXPECT_EQ(*second.get(), table);
    EXPECT_EQ(rendezvous_.calls, 1);
}

TEST_F(ExchangeThroughTheWorker, KeepsGroupsApart) {
    start_server();
    auto x0 = ask(0, "x", "1"), y1 = ask(1, "y", "4"), y0 = ask(0, "y", "3"), x1 = ask(1, "x", "2");
    EXPECT_EQ(*x0.get(), (Table{"x:1", "x:2"}));
    EXPECT_EQ(*x1.get(), (Table{"x:1", "x:2"}));
    EXPECT_EQ(*y0.get(), (Table{"y:3", "y:4"}));
    EXPECT_EQ(*y1.get(), (Table{"y:3", "y:4"}));
    EXPECT_EQ(rendezvous_.calls, 2);
}

TEST_F(ExchangeThroughTheWorker, WaitsForAWorkerThatIsAway) {
    auto first = ask(0, "all", "a");
    auto second = ask(1, "all", "b");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    start_server();
    EXPECT_EQ(*first.get(), (Table{"all:a", "all:b"}));
    EXPECT_EQ(*second.get(), (Table{"all:a", "all:b"}));
}

TEST_F(ExchangeThroughTheWorker, PublishesAgainWhenTheWorkerRestarts) {
    rendezvous_.hold = true;
    start_server();
    auto first = ask(0, "all", "a");
    auto second = ask(1, "all", "b");
    ASSERT_TRUE(eventually([&] { return rendezvous_.calls == 1; }));
    start_server();
    rendezvous_.hold = false;
    EXPECT_EQ(*first.get(), (Table{"all:a", "all:b"}));
    EXPECT_EQ(*second.get(), (Table{"all:a", "all:b"}));
}

TEST_F(ExchangeThroughTheWorker, ARankMayAskAgainAndGetsTheSameTable) {
    start_server();
    auto first = ask(0, "all", "a");
    EXPECT_TRUE(ask(1, "all", "b").get().ok());
    EXPECT_EQ(*first.get(), *ask(0, "all", "a").get());
    EXPECT_EQ(rendezvous_.calls, 1);
    EXPECT_EQ(ask(0, "all", "another").get().error().code, ErrorCode::already_exists);
}

TEST_F(ExchangeThroughTheWorker, PassesOnWhyThereIsNoTable) {
    rendezvous_.newest = {2};
    start_server();
    auto first = ask(0, "all", "a");
    EXPECT_FALSE(ask(1, "all", "b").get().ok());
    const Error refused = first.get().error();
    EXPECT_EQ(refused.code, ErrorCode::failed_precondition);
    EXPECT_EQ(refused.message, "epoch 1 is not the newest");
}

TEST_F(ExchangeThroughTheWorker, RefusesARankOfAnotherNode) {
    start_server();
    EXPECT_THAT(ask(5, "all", "a").get().error().message, HasSubstr("rank 5 is not one of"));
}

TEST_F(ExchangeThroughTheWorker, GivesUpAfterTheTimeout) {
    EXPECT_EQ(ask(0, "all", "a", Seconds{0.2}).get().error().code, ErrorCode::deadline_exceeded);
    start_server();
    EXPECT_EQ(ask(0, "all", "a", Seconds{0.2}).get().error().code, ErrorCode::deadline_exceeded);
}

TEST_F(ExchangeThroughTheWorker, PassesOnWhetherARankMayPublish) {
    start_server();
    EXPECT_TRUE(ask_to_publish().ok());
    rendezvous_.newest = {2};  // asked again
    const Status refused = ask_to_publish();
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_EQ(refused.error().message, "epoch 1 is not the newest");
    EXPECT_EQ(rendezvous_.publish_calls, 2);
}

TEST_F(ExchangeThroughTheWorker, SaysThatNobodyHasAnsweredYetAndAnswersLater) {
    EXPECT_EQ(ask_to_publish(Seconds{0.2}).error().code, ErrorCode::unavailable) << "no daemon";
    rendezvous_.hold = true;
    start_server();
    EXPECT_EQ(ask_to_publish(Seconds{0.2}).error().code, ErrorCode::unavailable);
    auto again = std::async(std::launch::async, [this] { return ask_to_publish(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    rendezvous_.hold = false;
    EXPECT_TRUE(again.get().ok());
    EXPECT_EQ(rendezvous_.publish_calls, 1) << "the call under way answers both";
}

TEST_F(ExchangeThroughTheWorker, EndsWhenTheRankIsAskedToStop) {
    start_server();
    auto first = ask(0, "all", "a");
    stop_ = true;
    EXPECT_EQ(first.get().error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace rm
