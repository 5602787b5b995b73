// gRPC's own listener (1.51) stopped accepting for ever after one accept4() that found no free
// descriptor: 1,100 idle connections of a stranger ended the API until a restart.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <mutex>

#include "ringmaster/v1/node.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/machine.h"

namespace rm {
namespace {

class Nodes final : public pb::NodeService::Service {};

// Idle raw connections. Their descriptors are made first, so that only the server runs out of them
// later.
class Strangers {
public:
    explicit Strangers(int count) {
        for (int i = 0; i < count; ++i)
            sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    }
    ~Strangers() { leave(); }
    int highest() const { return sockets_.back(); }
    void connect(int port) {
        sockaddr_in address{.sin_family = AF_INET,
                            .sin_port = htons(static_cast<std::uint16_t>(port))};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (const int fd : sockets_)
            ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    void leave() {
        for (const int fd : sockets_)
            ::close(fd);
        sockets_.clear();
    }

private:
    std::vector<int> sockets_;
};

grpc::StatusCode call(const std::string& address) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.set_wait_for_ready(true);
    pb::Node node;
    const auto channel = make_channel(address).value();
    return pb::NodeService::NewStub(channel)
        ->Get(&context, pb::GetNodeRequest(), &node)
        .error_code();
}

TEST(Regress0030, AListenerThatHasEndedIsNoticed) {
    std::promise<std::string> said;
    std::once_flag once;
    when_listener_ends(
        [&](const std::string& why) { std::call_once(once, [&] { said.set_value(why); }); });
    Nodes nodes;
    const auto server = GrpcServer::start({"127.0.0.1:0"}, {&nodes}).value();
    const std::string address = server->addresses().front();
    ASSERT_EQ(call(address), grpc::UNIMPLEMENTED) << "it serves";
    Strangers strangers(60);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{static_cast<rlim_t>(strangers.highest() + 8), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    strangers.connect(parse_host_port(address).value().port);
    auto why = said.get_future();
    const auto came = why.wait_for(std::chrono::seconds(20));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    when_listener_ends(nullptr);
    ASSERT_EQ(came, std::future_status::ready);
    EXPECT_NE(why.get().find("Too many open files"), std::string::npos);
}

TEST(Regress0030, DaemonsRaiseTheirLimitToTheHardOne) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{256, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    raise_open_files_limit();
    rlimit after{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
    EXPECT_EQ(after.rlim_cur, before.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace rm
