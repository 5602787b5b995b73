#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/check.h"
#include "service/address.h"

namespace rm::test {

// One connection to an HTTP server on loopback, of which a test reads as much as it wants.
class RawHttp {
public:
    explicit RawHttp(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(parse_host_port(address).value().port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        RM_CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0,
                 "cannot connect to {}", address);
        const timeval limit{.tv_sec = 10};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    ~RawHttp() { ::close(fd_); }
    RawHttp(const RawHttp&) = delete;
    RawHttp& operator=(const RawHttp&) = delete;

    void get(const std::string& path, const std::string& headers = "") {
        const std::string request = "GET " + path +
                                    " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                                    headers + "\r\n";
        RM_CHECK(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) ==
                     static_cast<ssize_t>(request.size()),
                 "short write");
    }
    // Everything up to and with `end`; all up to the close or a silence of 10 s without it.
    std::string read_to(const std::string& end) {
        char buffer[4096];
        for (std::size_t at = 0; (at = text_.find(end)) == std::string::npos;) {
            const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
            if (got <= 0) return std::move(text_);
            text_.append(buffer, static_cast<std::size_t>(got));
        }
        const std::string found = text_.substr(0, text_.find(end) + end.size());
        text_.erase(0, found.size());
        return found;
    }
    std::string read_all() { return read_to(std::string(1, '\0') + "never"); }

private:
    int fd_;
    std::string text_;
};

}  // namespace rm::test
