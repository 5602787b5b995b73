#include "service/grpc/grpc_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/grpc/grpc_util.h"
#include "tests/support/server_session.h"

namespace rm {
namespace {

using ServerStream = MessageStream<WorkerMessage, ControllerMessage>;

// A controller whose session is a function over the stream.
class Sessions final : public pb::WorkerService::Service {
public:
    explicit Sessions(std::function<Status(ServerStream&)> session)
        : session_(std::move(session)) {}

    grpc::Status Session(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>* call) override {
        const auto stream = session_stream(*context, *call);
        return to_grpc(session_(*stream));
    }

private:
    std::function<Status(ServerStream&)> session_;
};

class GrpcStream : public testing::Test {
protected:
    std::shared_ptr<grpc::Channel> serve(std::function<Status(ServerStream&)> session) {
        sessions_ = std::make_unique<Sessions>(std::move(session));
        auto server = GrpcServer::start({"127.0.0.1:0"}, {sessions_.get()});
        RM_CHECK(server.ok(), "{}", server.error().message);
        server_ = *std::move(server);
        return make_channel(server_->addresses()[0]).value();
    }

    std::atomic<bool> stop_ = false;  // outlives the server, whose handlers use it
    std::unique_ptr<Sessions> sessions_;
    std::unique_ptr<GrpcServer> server_;
};

Status answer_hello_with_pings(ServerStream& stream) {
    WorkerMessage message;
    if (!stream.read(message)) return {};
    stream.write(HelloReply{.cluster = {std::get<Hello>(message).build}});
    while (stream.read(message)) {
        const auto* pong = std::get_if<Pong>(&message);
        if (!pong) return make_error(ErrorCode::aborted, "that was no pong");
        stream.write(Ping{pong->nonce + 1});
    }
    return {};
}

TEST_F(GrpcStream, CarriesMessagesBothWaysAndTheReasonOfTheEnd) {
    const auto session = open_session(serve(answer_hello_with_pings));
    ASSERT_TRUE(session->write(Hello{.build = "b1"}));
    ControllerMessage message;
    ASSERT_TRUE(session->read(message));
    EXPECT_EQ(std::get<HelloReply>(message).cluster.value, "b1");
    for (std::uint64_t nonce = 0; nonce < 10; nonce += 2) {
        ASSERT_TRUE(session->write(Pong{nonce}));
        ASSERT_TRUE(session->read(message));
        EXPECT_EQ(std::get<Ping>(message).nonce, nonce + 1);
    }
    ASSERT_TRUE(session->write(CommandRefused{{1}, "no"}));
    EXPECT_FALSE(session->read(message));
    const Status end = session->finish();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::aborted);
    EXPECT_EQ(end.error().message, "that was no pong");
}

TEST_F(GrpcStream, CancelFreesABlockedReader) {
    const auto session = open_session(serve(answer_hello_with_pings));
    std::thread canceller([&session] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        session->cancel();
    });
    ControllerMessage message;
    EXPECT_FALSE(session->read(message));
    canceller.join();
    EXPECT_FALSE(session->write(Pong{1}));
    EXPECT_EQ(session->finish().error().code, ErrorCode::cancelled);
}

TEST_F(GrpcStream, CancelFreesAWriterWhoseReaderIsStuck) {
    const auto session = open_session(serve([this](ServerStream&) -> Status {
        while (!stop_)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return {};
    }));
    std::thread canceller([&session] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        session->cancel();
    });
    const CommandRefused large{{1}, std::string(1 << 20, 'x')};
    int written = 0;
    while (written < 1000 && session->write(large))
        ++written;
    EXPECT_LT(written, 1000) << "nobody read, so the window must have closed";
    canceller.join();
    stop_ = true;
}

TEST_F(GrpcStream, ServerSideCancelEndsTheSession) {
    const auto session = open_session(serve([](ServerStream& stream) -> Status {
        stream.cancel();
        WorkerMessage message;
        EXPECT_FALSE(stream.read(message));
        EXPECT_FALSE(stream.write(Ping{1}));
        return {};
    }));
    ControllerMessage message;
    EXPECT_FALSE(session->read(message));
    EXPECT_FALSE(session->finish());
}

TEST_F(GrpcStream, AMessageThatDoesNotConvertEndsTheSession) {
    const auto channel = serve([this](ServerStream& stream) -> Status {
        WorkerMessage message;
        EXPECT_FALSE(stream.read(message));
        stop_ = true;
        return {};
    });
    grpc::ClientContext context;
    const auto stub = pb::WorkerService::NewStub(channel);
    const auto call = stub->Session(&context);
    ASSERT_TRUE(call->Write(pb::WorkerMessage()));
    pb::ControllerMessage reply;
    EXPECT_FALSE(call->Read(&reply));
    EXPECT_EQ(call->Finish().error_code(), grpc::CANCELLED);
    while (!stop_)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(GrpcStream, NobodyListeningIsUnavailable) {
    const auto session = open_session(make_channel("127.0.0.1:1").value());
    ControllerMessage message;
    EXPECT_FALSE(session->read(message));
    EXPECT_EQ(session->finish().error().code, ErrorCode::unavailable);
}

TEST_F(GrpcStream, AnUnfinishedSessionMayBeDropped) {
    auto session = open_session(serve(answer_hello_with_pings));
    ASSERT_TRUE(session->write(Hello{}));
    session.reset();
}

}  // namespace
}  // namespace rm
