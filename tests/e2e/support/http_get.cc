#include "tests/e2e/support/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <string_view>

#include "base/check.h"
#include "base/format.h"

namespace rm::e2e {
namespace {

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

struct Socket {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ~Socket() { close(fd); }
};

}  // namespace

std::string http_get(const std::string& host_port, const std::string& path) {
    const Socket socket;
    const auto address = loopback(std::stoi(host_port.substr(host_port.rfind(':') + 1)));
    if (connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return "";
    const std::string request = format("GET {} HTTP/1.0\r\nHost: {}\r\n\r\n", path, host_port);
    if (send(socket.fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
    std::string answer;
    char buffer[8192];
    for (ssize_t got = 0; (got = recv(socket.fd, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(got));
    }
    const std::size_t body = answer.find("\r\n\r\n");
    const bool good = answer.substr(0, answer.find('\r')).find(" 200 ") != std::string::npos;
    return good && body != std::string::npos ? answer.substr(body + 4) : "";
}

std::string url_encoded(const std::string& text) {
    std::string encoded;
    for (const unsigned char c : text) {
        encoded += std::isalnum(c) != 0 ? std::string(1, static_cast<char>(c))
                                        : format("%{:02x}", static_cast<int>(c));
    }
    return encoded;
}

int free_port() {
    const Socket socket;
    auto address = loopback(0);
    socklen_t size = sizeof address;
    const bool bound = bind(socket.fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       getsockname(socket.fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    RM_CHECK(bound, "no loopback port can be bound");
    return ntohs(address.sin_port);
}

}  // namespace rm::e2e
