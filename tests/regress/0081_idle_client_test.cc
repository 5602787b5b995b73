// A client that serves its connection only during calls, as Python's does, answered no ping between
// two of them: it was cut off after 25 s, and its next call failed. The server still pings clients
// with an open call, as every worker has.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "ringmaster/v1/node.grpc.pb.h"
#include "service/grpc/grpc_util.h"

namespace rm {
namespace {

class Nodes final : public ringmaster::v1::NodeService::Service {};

enum Frame : int { kHeaders = 1, kSettings = 4, kPing = 6, kGoAway = 7, kEnd = -1 };

std::string frame(Frame type, char flags, char stream, const std::string& payload) {
    std::string bytes = {
        0, 0, static_cast<char>(payload.size()), static_cast<char>(type), flags, 0, 0, 0, stream};
    return bytes + payload;
}

std::string sized(const std::string& text) {
    return static_cast<char>(text.size()) + text;
}

// HTTP/2 by hand (RFC 9113): it answers nothing.
class MuteClient {
public:
    explicit MuteClient(const GrpcServer& server)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int port = parse_host_port(server.addresses().front()).value().port;
        sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        RM_CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0, "port {}", port);
        send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, ""));
    }
    ~MuteClient() { ::close(fd_); }

    void send(const std::string& bytes) {
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    // Sends the head of a call whose message never follows (RFC 7541: indexed names, plain values).
    void begin_call() {
        send(frame(kHeaders, 4, 1,
                   "\x83\x86\x04" + sized("/ringmaster.v1.NodeService/Get") + "\x01" +
                       sized("localhost") + "\x0f\x10" + sized("application/grpc") +
                       std::string(1, '\0') + sized("te") + sized("trailers")));
    }
    // Returns the types of the frames received within a time; kEnd where the server hangs up.
    std::vector<int> hear(Seconds limit) {
        const auto until = std::chrono::steady_clock::now() +
                           std::chrono::milliseconds(static_cast<int>(limit.value * 1e3));
        std::vector<int> types;
        while (std::chrono::steady_clock::now() < until) {
            pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, 20) != 1) continue;
            if (!read_more()) return types.push_back(kEnd), types;
            take_frames(types);
        }
        return types;
    }

private:
    bool read_more() {
        char bytes[4096];
        const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
        if (size > 0) buffer_.append(bytes, static_cast<std::size_t>(size));
        return size > 0;
    }
    void take_frames(std::vector<int>& types) {
        const auto byte = [&](std::size_t at) -> std::size_t {
            return static_cast<unsigned char>(buffer_[at]);
        };
        while (buffer_.size() >= 9) {
            const std::size_t size = 9 + (byte(0) << 16 | byte(1) << 8 | byte(2));
            if (buffer_.size() < size) return;
            types.push_back(static_cast<int>(byte(3)));
            buffer_.erase(0, size);
        }
    }

    int fd_;
    std::string buffer_;
};

std::ptrdiff_t count(const std::vector<int>& types, Frame type) {
    return std::count(types.begin(), types.end(), type);
}

struct Regress0081 : testing::Test {
    std::unique_ptr<GrpcServer> serve(const KeepAlive& keep_alive) {
        return GrpcServer::start({"127.0.0.1:0"}, {&nodes}, {}, keep_alive).value();
    }
    Nodes nodes;
};

TEST_F(Regress0081, AClientWithoutACallIsNotAskedForASignOfLife) {
    const auto server = serve({.ping = {0.2}, .answer = {0.3}});
    MuteClient client(*server);
    const auto heard = client.hear({2.5});
    EXPECT_EQ(count(heard, kSettings), 2) << "its own, and the acknowledgement of ours";
    EXPECT_EQ(count(heard, kPing), 0);
    EXPECT_EQ(count(heard, kEnd) + count(heard, kGoAway), 0);
}

TEST_F(Regress0081, OneWithACallIsAndGoesWhenItHasNone) {
    const auto server = serve({.ping = {0.2}, .answer = {0.3}});
    MuteClient client(*server);
    client.begin_call();
    const auto heard = client.hear({20});
    EXPECT_GE(count(heard, kPing), 1);
    EXPECT_EQ(heard.back(), kEnd);
}

TEST_F(Regress0081, PingsOfAnIdleClientAreNoAttack) {
    const auto server = serve({});
    MuteClient client(*server);
    std::vector<int> heard;
    for (int i = 0; i < 10; ++i) {
        client.send(frame(kPing, 0, 0, "12345678"));
        for (const int type : client.hear({0.1}))
            heard.push_back(type);
    }
    EXPECT_EQ(count(heard, kPing), 10) << "each is answered";
    EXPECT_EQ(count(heard, kEnd) + count(heard, kGoAway), 0);
}

TEST_F(Regress0081, NobodyIsIdleForEver) {
    const auto server = serve({.idle = {1}});
    MuteClient client(*server);
    const auto heard = client.hear({20});
    EXPECT_GE(count(heard, kGoAway), 1) << "so that a client knows that it must connect again";
}

}  // namespace
}  // namespace rm
