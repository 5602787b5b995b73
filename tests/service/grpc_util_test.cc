#include "service/grpc/grpc_util.h"

#include <fcntl.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "ringmaster/v1/node.grpc.pb.h"
#include "service/convert/convert.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

class Nodes final : public pb::NodeService::Service {
public:
    grpc::Status Get(grpc::ServerContext*, const pb::GetNodeRequest* request, pb::Node*) override {
        return to_grpc(make_error(ErrorCode::not_found, "no node '{}'", request->node_id()));
    }
    grpc::Status List(grpc::ServerContext* context, const pb::ListNodesRequest*,
                      pb::ListNodesReply*) override {
        entered = true;
        while (!context->IsCancelled())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return grpc::Status::CANCELLED;
    }
    std::atomic<bool> entered = false;
};

std::unique_ptr<GrpcServer> start(const std::vector<std::string>& addresses, Nodes& nodes) {
    auto server = GrpcServer::start(addresses, {&nodes});
    RM_CHECK(server.ok(), "{}", server.error().message);
    return *std::move(server);
}

grpc::Status get_node(const std::string& address, const std::string& id) {
    const auto channel = make_channel(address);
    RM_CHECK(channel.ok(), "{}", channel.error().message);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    pb::GetNodeRequest request;
    request.set_node_id(id);
    pb::Node node;
    return pb::NodeService::NewStub(*channel)->Get(&context, request, &node);
}

// Sends one message to a method by name and returns the first reply, as bytes.
grpc::Status call(const std::string& address, const std::string& method, const std::string& sent,
                  std::string& received) {
    grpc::GenericStub stub(make_channel(address).value());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    grpc::CompletionQueue queue;
    const grpc::Slice slice(sent);
    const grpc::ByteBuffer request(&slice, 1);
    auto reader = stub.PrepareUnaryCall(&context, method, request, &queue);
    reader->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    reader->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (status.ok() && reply.Dump(&slices).ok()) {
        for (const grpc::Slice& part : slices) {
            received.append(reinterpret_cast<const char*>(part.begin()), part.size());
        }
    }
    return status;
}

TEST(GrpcStatus, CarriesEveryCodeAndTheMessageBothWays) {
    for (int code = 1; code <= 16; ++code) {
        const Error error{static_cast<ErrorCode>(code), format("message {}", code)};
        const grpc::Status status = to_grpc(error);
        EXPECT_EQ(status.error_code(), code);
        const Error back = from_grpc(status);
        EXPECT_EQ(back.code, error.code);
        EXPECT_EQ(back.message, error.message);
    }
    EXPECT_TRUE(to_grpc(Status()).ok());
    EXPECT_EQ(to_grpc(Status(invalid_argument("x"))).error_code(), grpc::INVALID_ARGUMENT);
}

TEST(GrpcServer, ListensOnEveryAddressAndSaysTheRealPorts) {
    const TempDir temp;
    Nodes nodes;
    const std::string socket = "unix:" + temp.file("s");
    const auto server = start({socket, "127.0.0.1:0", "localhost:0"}, nodes);
    ASSERT_EQ(server->addresses().size(), 3u);
    EXPECT_EQ(server->addresses()[0], socket);
    EXPECT_NE(server->addresses()[1], "127.0.0.1:0");
    EXPECT_NE(server->addresses()[1], server->addresses()[2]);
    for (const std::string& address : server->addresses()) {
        const grpc::Status status = get_node(address, "n7");
        EXPECT_EQ(status.error_code(), grpc::NOT_FOUND) << address;
        EXPECT_EQ(status.error_message(), "no node 'n7'");
    }
}

TEST(GrpcServer, APortInUseIsAnErrorThatNamesTheAddress) {
    Nodes nodes;
    const auto first = start({"127.0.0.1:0"}, nodes);
    Nodes others;
    const std::string taken = first->addresses()[0];
    const auto second = GrpcServer::start({"127.0.0.1:0", taken}, {&others});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_EQ(
        second.error().message,
        format("cannot listen on {}: Address already in use; stop what listens there or choose "
               "another address",
               taken));
    EXPECT_EQ(get_node(taken, "x").error_code(), grpc::NOT_FOUND) << "the first one goes on";
}

TEST(GrpcServer, ASocketInUseIsAnErrorAndAStaleOneIsReplaced) {
    const TempDir temp;
    const std::string socket = "unix:" + temp.file("s");
    Nodes nodes;
    {
        const auto first = start({socket}, nodes);
        Nodes others;
        const auto second = GrpcServer::start({socket}, {&others});
        ASSERT_FALSE(second);
        EXPECT_NE(second.error().message.find(socket), std::string::npos);
        EXPECT_EQ(get_node(socket, "x").error_code(), grpc::NOT_FOUND);
    }
    // As after a crash: the socket file exists and no process serves it.
    sockaddr_un stale{};
    stale.sun_family = AF_UNIX;
    temp.file("s").copy(stale.sun_path, sizeof stale.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ::unlink(stale.sun_path);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&stale), sizeof stale), 0);
    ::close(fd);
    const auto third = start({socket}, nodes);
    EXPECT_EQ(get_node(socket, "x").error_code(), grpc::NOT_FOUND);
}

TEST(GrpcServer, AddressesBeyondLoopbackAreRefused) {
    Nodes nodes;
    for (const std::string address : {"0.0.0.0:0", "unix:relative", "x"}) {
        const auto server = GrpcServer::start({address}, {&nodes});
        ASSERT_FALSE(server) << address;
        EXPECT_EQ(server.error().code, ErrorCode::invalid_argument);
        EXPECT_FALSE(make_channel(address)) << address;
    }
    EXPECT_FALSE(GrpcServer::start({}, {&nodes}));
}

TEST(GrpcServer, ReportsItsHealthAndItsServices) {
    Nodes nodes;
    const auto server = start({"127.0.0.1:0"}, nodes);
    std::string reply;
    EXPECT_TRUE(call(server->addresses()[0], "/grpc.health.v1.Health/Check", "", reply).ok());
    EXPECT_EQ(reply, "\x08\x01") << "status: SERVING";
    reply.clear();
    const std::string list_services("\x3a\x00", 2);
    EXPECT_TRUE(call(server->addresses()[0],
                     "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                     list_services, reply)
                    .ok());
    EXPECT_NE(reply.find("ringmaster.v1.NodeService"), std::string::npos);
}

TEST(GrpcServer, ShutdownCancelsWhatDoesNotEndInTime) {
    Nodes nodes;
    auto server = start({"127.0.0.1:0"}, nodes);
    grpc::Status status;
    std::thread caller([&status, address = server->addresses()[0]] {
        grpc::ClientContext context;
        pb::ListNodesReply reply;
        status = pb::NodeService::NewStub(make_channel(address).value())
                     ->List(&context, pb::ListNodesRequest(), &reply);
    });
    while (!nodes.entered)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto began = std::chrono::steady_clock::now();
    server->shutdown(Seconds{0.05});
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    caller.join();
    EXPECT_FALSE(status.ok());
}

TEST(GrpcChannel, SaysUnavailableWhenNobodyListens) {
    const TempDir temp;
    EXPECT_EQ(get_node("unix:" + temp.file("none"), "x").error_code(), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace rm
