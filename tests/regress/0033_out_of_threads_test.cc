// Watch, Logs, Top and Exchange held one thread each without a limit: 1,500 streams of a viewer
// took 1,522 threads. A rank whose rendezvous met a controller without threads (RESOURCE_EXHAUSTED)
// failed instead of asking again.
#include <gtest/gtest.h>

#include <atomic>

#include "controller/exchange.h"
#include "controller/rpc/seats.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "tests/controller/running.h"
#include "worker/rpc/grpc_rendezvous.h"

namespace rm {
namespace {

TEST(Regress0033, OneCallerCannotTakeAllSeats) {
    Seats seats({.all = 5, .of_one = 3});
    std::vector<Seats::Seat> taken;
    for (int i = 0; i < 3; ++i)
        taken.push_back(seats.take("vera").value());
    const auto fourth = seats.take("vera");
    ASSERT_FALSE(fourth);
    EXPECT_EQ(fourth.error().code, ErrorCode::resource_exhausted);
    for (int i = 0; i < 2; ++i)
        taken.push_back(seats.take("sam").value());
    EXPECT_FALSE(seats.take("sue")) << "that is all there are";
    taken.clear();
    EXPECT_TRUE(seats.take("vera"));
}

// A caller follows one job.
class Followed {
public:
    Followed(test::Running& running, const std::string& job) {
        pb::WatchRequest request;
        request.set_job_id(job);
        reader_ = running.jobs->Watch(&context_, request);
        pb::JobUpdate update;
        served_ = reader_->Read(&update);
        if (!served_) end_ = reader_->Finish();
    }
    ~Followed() {
        if (!served_) return;
        context_.TryCancel();
        reader_->Finish();
    }
    bool served() const { return served_; }
    const grpc::Status& end() const { return end_; }

private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<pb::JobUpdate>> reader_;
    bool served_ = false;
    grpc::Status end_;
};

TEST(Regress0033, TheServiceGivesStreamsNoMoreThanTheirSeats) {
    test::Running running;
    const std::string job = running.submit(test::small_spec());
    std::vector<std::unique_ptr<Followed>> streams;
    const Seats::Limits limits;
    for (int i = 0; i < limits.of_one; ++i) {
        streams.push_back(std::make_unique<Followed>(running, job));
        ASSERT_TRUE(streams.back()->served()) << i << ": " << streams.back()->end().error_message();
    }
    const Followed refused(running, job);
    ASSERT_FALSE(refused.served());
    EXPECT_EQ(refused.end().error_code(), grpc::RESOURCE_EXHAUSTED);
    EXPECT_NE(refused.end().error_message().find("256 of them yours"), std::string::npos)
        << refused.end().error_message();
    streams.pop_back();
    bool served = false;
    for (int i = 0; i < 1000 && !served; ++i) {  // the seat is free once the service has noticed
        served = Followed(running, job).served();
        if (!served) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(served);
}

TEST(Regress0033, ANodeThatFindsNoPlaceToWaitIsToldToAskAgain) {
    const auto placement = [](Epoch) -> Result<std::vector<NodeId>> {
        return std::vector<NodeId>{{"a"}, {"b"}};
    };
    ExchangeTable table(placement, /*max_waiting=*/0);
    const auto never = [] { return false; };
    const auto early = table.exchange({{1}, "world", {"a"}, {{0, "A"}}}, never);
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::unavailable);
    const std::vector<std::string> both = {"A", "B"};
    EXPECT_EQ(table.exchange({{1}, "world", {"b"}, {{1, "B"}}}, never).value(), both);
    EXPECT_EQ(table.exchange({{1}, "world", {"a"}, {{0, "A"}}}, never).value(), both);
}

class WithoutThreads final : public pb::RendezvousService::Service {
public:
    grpc::Status Exchange(grpc::ServerContext*, const pb::ExchangeRequest*,
                          pb::ExchangeReply* reply) override {
        if (calls++ == 0) return {grpc::RESOURCE_EXHAUSTED, "Server Threadpool Exhausted"};
        reply->add_blobs("A");
        return grpc::Status::OK;
    }
    std::atomic<int> calls = 0;
};

TEST(Regress0033, TheRendezvousAsksAgainWhereThereWasNoThread) {
    WithoutThreads service;
    const auto server = GrpcServer::start({"127.0.0.1:0"}, {&service}).value();
    const auto rendezvous = make_grpc_rendezvous(
        std::make_shared<ControllerChannel>(make_channel(server->addresses().front()).value()),
        {"a"});
    const auto table = rendezvous->exchange({1}, "world", {{0, "A"}}, {});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(*table, std::vector<std::string>{"A"});
    EXPECT_EQ(service.calls, 2);
}

}  // namespace
}  // namespace rm
