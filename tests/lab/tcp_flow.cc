#include "tests/lab/tcp_flow.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "base/check.h"

namespace rm::lab {
namespace {

sockaddr_in socket_address(const std::string& host, in_port_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port;
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    return address;
}

struct Listener {
    int fd = -1;
    sockaddr_in address{};
};

Listener listen_in(const Lab& lab, const std::string& host) {
    Listener listener{-1, socket_address(lab.address(host), 0)};
    lab.run_in(host, [&listener] {
        listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        auto* address = reinterpret_cast<sockaddr*>(&listener.address);
        socklen_t size = sizeof listener.address;
        bind(listener.fd, address, size);
        listen(listener.fd, 1);
        getsockname(listener.fd, address, &size);
    });
    RM_CHECK(listener.address.sin_port != 0, "{} cannot listen in the lab", host);
    return listener;
}

bool ready(int fd, short events, Seconds limit) {
    pollfd wanted{fd, events, 0};
    return poll(&wanted, 1, static_cast<int>(limit.value * 1000)) == 1 &&
           (wanted.revents & (POLLERR | POLLHUP)) == 0;
}

// A blocking socket, connected; -1: not within the limit.
int connect_in(const Lab& lab, const std::string& host, const Listener& to, Seconds limit) {
    int fd = -1;
    lab.run_in(host, [&] {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(fd, reinterpret_cast<const sockaddr*>(&to.address), sizeof to.address);
    });
    if (ready(fd, POLLOUT, limit)) {
        fcntl(fd, F_SETFL, 0);
        return fd;
    }
    close(fd);
    return -1;
}

}  // namespace

TcpFlow::TcpFlow(const Lab& lab, const std::string& from, const std::string& to) {
    const Listener listener = listen_in(lab, to);
    sending_ = connect_in(lab, from, listener, Seconds{5});
    RM_CHECK(sending_ >= 0, "{} does not reach {} in the lab", from, to);
    receiving_ = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener.fd);
    sender_ = std::thread([this] { send_all(); });
    receiver_ = std::thread([this] { receive_all(); });
}

TcpFlow::~TcpFlow() {
    shutdown(sending_, SHUT_RDWR);
    shutdown(receiving_, SHUT_RDWR);
    sender_.join();
    receiver_.join();
    close(sending_);
    close(receiving_);
}

void TcpFlow::send_all() {
    const std::vector<char> block(1 << 18);
    while (send(sending_, block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
}

void TcpFlow::receive_all() {
    std::vector<char> block(1 << 18);
    for (ssize_t got = 0; (got = recv(receiving_, block.data(), block.size(), 0)) > 0;)
        received_ += got;
}

MbitPerSec TcpFlow::measure(Seconds time) const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const std::int64_t before = received_;
    std::this_thread::sleep_for(std::chrono::duration<double>(time.value));
    const std::int64_t bytes = received_ - before;
    const std::chrono::duration<double> passed = Clock::now() - begin;
    return {static_cast<double>(bytes) * 8e-6 / passed.count()};
}

bool connects(const Lab& lab, const std::string& from, const std::string& to, Seconds limit) {
    const Listener listener = listen_in(lab, to);
    const int fd = connect_in(lab, from, listener, limit);
    close(listener.fd);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

}  // namespace rm::lab
