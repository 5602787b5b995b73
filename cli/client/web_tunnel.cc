#include "cli/client/web_tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/text.h"
#include "service/security/tokens.h"

namespace rm {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kCookie = "ringmaster-web=";
constexpr std::string_view kOpen = "/open?";
constexpr std::size_t kMaxHead = 16 * 1024;
constexpr std::size_t kMaxPassages = 256;
constexpr timeval kPatience{.tv_sec = 30};  // for a request to arrive

bool send_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

// Everything up to the end of the head, and perhaps some of the body; empty: no request.
std::string receive_head(int fd) {
    std::string text;
    std::array<char, 4096> buffer;
    while (text.find(kEnd) == text.npos) {
        const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
        if (got <= 0 || text.size() > kMaxHead) return "";
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

bool names(std::string_view line, std::string_view header) {
    return line.size() > header.size() && line[header.size()] == ':' &&
           ::strncasecmp(line.data(), header.data(), header.size()) == 0;
}

std::size_t body_length(std::string_view head) {
    for (const std::string_view line : split(head, '\n')) {
        constexpr std::string_view kLength = "Content-Length";
        if (!names(line, kLength)) continue;
        std::string_view value = line.substr(kLength.size() + 1);
        while (value.starts_with(' '))
            value.remove_prefix(1);
        while (value.ends_with('\r'))
            value.remove_suffix(1);
        return parse_number<std::size_t>(value).value_or(0);
    }
    return 0;
}

std::string answer_text(std::string_view status, std::string_view headers, std::string_view body) {
    return format(
        "HTTP/1.1 {}\r\n{}Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        status, headers, body.size(), body);
}

Result<std::pair<UniqueFd, int>> listen_on(int port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(fd.get(), address, &size) != 0) {
        return make_error(ErrorCode::unavailable,
                          "cannot listen on 127.0.0.1:{}: {}; choose another --port, or 0 for any",
                          port, std::strerror(errno));
    }
    return std::pair(std::move(fd), int{ntohs(at.sin_port)});
}

}  // namespace

Result<std::unique_ptr<WebTunnel>> WebTunnel::start(int port, HostPort controller,
                                                    ClientSecurity security) {
    RM_TRY(auto listening, listen_on(port));
    RM_TRY(const auto reached, ClientStream::open(controller, security));
    return std::unique_ptr<WebTunnel>(new WebTunnel(std::move(listening.first), listening.second,
                                                    std::move(controller), std::move(security)));
}

WebTunnel::WebTunnel(UniqueFd listener, int port, HostPort controller, ClientSecurity security)
    : listener_(std::move(listener)),
      port_(port),
      controller_(std::move(controller)),
      security_(std::move(security)),
      secret_(make_token()),
      thread_([this] { accept(); }) {}

WebTunnel::~WebTunnel() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (Passage& passage : passages_) {
        ::shutdown(passage.browser.get(), SHUT_RDWR);
        const std::lock_guard lock(passage.mutex);
        if (passage.server) passage.server->shut_down();
    }
    for (Passage& passage : passages_)
        passage.thread.join();
}

std::string WebTunnel::address() const {
    return format("http://127.0.0.1:{}{}{}", port_, kOpen, secret_);
}

void WebTunnel::accept() {
    for (;;) {
        UniqueFd browser(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!browser && errno != EMFILE && errno != ECONNABORTED) return;
        drop_ended();
        if (!browser || passages_.size() >= kMaxPassages) continue;
        ::setsockopt(browser.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
        Passage& passage = passages_.emplace_back();
        passage.browser = std::move(browser);
        passage.thread = std::thread([this, &passage] {
            serve(passage);
            ::shutdown(passage.browser.get(), SHUT_RDWR);
            passage.done = true;
        });
    }
}

void WebTunnel::drop_ended() {
    for (Passage& passage : passages_) {
        if (passage.done) passage.thread.join();
    }
    passages_.remove_if([](const Passage& passage) { return passage.done.load(); });
}

bool WebTunnel::is_ours(const std::string& head) const {
    return head.find(format("{}{}", kCookie, secret_)) != head.npos;
}

// The request as the controller gets it: one for each connection, which ends with the answer.
Result<std::string> WebTunnel::with_credential(const std::string& head) const {
    std::string sent;
    for (const std::string_view line : split(head, '\n')) {
        const bool ours =
            names(line, "Connection") || names(line, "Authorization") || names(line, "Cookie");
        if (!ours && line != "\r" && !line.empty()) sent.append(line).append("\n");
    }
    if (!security_.token_file.empty()) {
        RM_TRY(const std::string token, read_token_file(security_.token_file));
        sent += format("Authorization: Bearer {}\r\n", token);
    }
    return sent + "Connection: close\r\n\r\n";
}

Status WebTunnel::connect(Passage& passage) const {
    RM_TRY(auto server, ClientStream::open(controller_, security_));
    const std::lock_guard lock(passage.mutex);
    passage.server = std::move(server);
    return {};
}

void WebTunnel::serve(Passage& passage) {
    const int browser = passage.browser.get();
    const std::string request = receive_head(browser);
    if (request.empty()) return;
    const std::size_t end = request.find(kEnd) + kEnd.size();
    const std::string head = request.substr(0, end);
    if (head.starts_with(format("GET {}{} ", kOpen, secret_))) {
        const std::string cookie =
            format("Location: /\r\nSet-Cookie: {}{}; Path=/; HttpOnly; SameSite=Strict\r\n",
                   kCookie, secret_);
        send_all(browser, answer_text("303 See Other", cookie, ""));
        return;
    }
    if (!is_ours(head)) {
        send_all(browser, answer_text("403 Forbidden", "",
                                      "open the address that `ringmaster web` has printed\n"));
        return;
    }
    const Result<std::string> sent = with_credential(head);
    const Status connected = sent ? connect(passage) : Status(sent.error());
    if (!connected) {
        send_all(browser, answer_text("502 Bad Gateway", "", connected.error().message + "\n"));
        return;
    }
    passage.server->write(*sent + request.substr(end));
    std::array<char, 16 * 1024> buffer;
    for (std::size_t left = body_length(head), here = request.size() - end; here < left;) {
        const ssize_t got = ::recv(browser, buffer.data(), buffer.size(), 0);
        if (got <= 0) return;
        here += static_cast<std::size_t>(got);
        passage.server->write({buffer.data(), static_cast<std::size_t>(got)});
    }
    for (std::size_t got = 0; (got = passage.server->read(buffer)) > 0;) {
        if (!send_all(browser, {buffer.data(), got})) return;
    }
}

}  // namespace rm
