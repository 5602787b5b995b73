#include "service/http/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <chrono>
#include <utility>  // Boost 1.74 in C++20 needs it before Asio

#include "base/text.h"
#include "service/address.h"

namespace rm {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxAnswer = 16 << 20;
constexpr auto kLook = std::chrono::milliseconds(100);  // whether a stop was requested

std::string address_of(const BaseUrl& server) {
    return format("{}:{}", server.host, server.port);
}

// Runs the steps of one request, each until its handler or the deadline.
class Exchange {
public:
    Exchange(const BaseUrl& server, Seconds limit, std::stop_token stop)
        : server_(server),
          stop_(std::move(stop)),
          deadline_(std::chrono::steady_clock::now() +
                    std::chrono::milliseconds(static_cast<std::int64_t>(limit.value * 1e3))) {}

    HttpOutcome run(const OutgoingRequest& request) {
        if (server_.scheme == UrlScheme::http) {
            beast::tcp_stream stream(io_);
            return run(stream, stream, request);
        }
        ssl::context context(ssl::context::tls_client);
        error_code failure;
        context.set_default_verify_paths(failure);
        context.set_verify_mode(ssl::verify_peer);
        beast::ssl_stream<beast::tcp_stream> stream(io_, context);
        expect_name(stream.native_handle());
        return run(stream, beast::get_lowest_layer(stream), request);
    }

private:
    void expect_name(SSL* tls) const {
        SSL_set_tlsext_host_name(tls, server_.host.c_str());
        X509_VERIFY_PARAM_set1_host(SSL_get0_param(tls), server_.host.c_str(), 0);
    }

    template <typename Stream>
    HttpOutcome run(Stream& stream, beast::tcp_stream& socket, const OutgoingRequest& request) {
        socket_ = &socket;
        socket.expires_at(deadline_);
        if (const error_code failure = connect(socket)) return lost("connecting", failure);
        if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
            const error_code failure = await([&](auto&& done) {
                stream.async_handshake(ssl::stream_base::client, std::move(done));
            });
            if (failure) return lost("the TLS handshake", failure);
        }
        http::request<http::string_body> message = message_of(request);
        const error_code written = await([&](auto&& done) {
            http::async_write(stream, message,
                              [done](const error_code& why, std::size_t) { done(why); });
        });
        if (written) return lost("sending", written, Delivery::possible);
        beast::flat_buffer buffer;
        http::response_parser<http::string_body> parser;
        parser.body_limit(kMaxAnswer);
        const error_code read = await([&](auto&& done) {
            http::async_read(stream, buffer, parser,
                             [done](const error_code& why, std::size_t) { done(why); });
        });
        if (read) return lost("waiting for the answer", read, Delivery::possible);
        return {answer_of(parser.get())};
    }

    error_code connect(beast::tcp_stream& socket) {
        tcp::resolver resolver(io_);
        error_code failure;
        const auto found = resolver.resolve(server_.host, std::to_string(server_.port), failure);
        if (failure) return failure;
        return await([&](auto&& done) {
            socket.async_connect(found, [done](const error_code& why, const auto&) { done(why); });
        });
    }

    template <typename Start>
    error_code await(const Start& start) {
        error_code result;
        start([&result](const error_code& why) { result = why; });
        io_.restart();
        while (!io_.stopped()) {
            io_.run_for(kLook);
            if (stop_.stop_requested()) socket_->close();
        }
        return result;
    }

    http::request<http::string_body> message_of(const OutgoingRequest& request) const {
        http::request<http::string_body> message;
        message.method_string(request.method);
        message.target(request.target);
        message.version(11);
        const bool usual = server_.port == (server_.scheme == UrlScheme::https ? 443 : 80);
        message.set(http::field::host, usual ? server_.host : address_of(server_));
        message.set(http::field::user_agent, "ringmaster");
        message.set(http::field::connection, "close");
        for (const auto& header : request.headers)
            message.set(header.first, header.second);
        if (!request.body.empty()) message.set(http::field::content_type, "application/json");
        message.body() = request.body;
        message.prepare_payload();
        return message;
    }

    static HttpAnswer answer_of(http::response<http::string_body>& response) {
        const auto wait = response[http::field::retry_after];
        return {.status = static_cast<int>(response.result_int()),
                .retry_after = std::string(wait.data(), wait.size()),
                .body = std::move(response.body())};
    }

    HttpOutcome lost(std::string_view doing, const error_code& why,
                     Delivery delivery = Delivery::none) const {
        const auto error = [&](ErrorCode code, std::string_view text) {
            return make_error(code, "{}: {}: {}", address_of(server_), doing, text);
        };
        if (stop_.stop_requested()) return {error(ErrorCode::cancelled, "stopped"), delivery};
        if (why == beast::error::timeout)
            return {error(ErrorCode::deadline_exceeded, "no end within the time limit"), delivery};
        return {error(ErrorCode::unavailable, why.message()), delivery};
    }

    const BaseUrl& server_;
    const std::stop_token stop_;
    const std::chrono::steady_clock::time_point deadline_;
    asio::io_context io_;
    beast::tcp_stream* socket_ = nullptr;
};

}  // namespace

Result<BaseUrl> parse_base_url(std::string_view text) {
    const auto wrong = [text](std::string_view why) {
        return invalid_argument("'{}' {}; an address looks like https://api.example.com/v1", text,
                                why);
    };
    BaseUrl url;
    std::string_view rest = text;
    if (rest.starts_with("https://")) {
        rest.remove_prefix(8);
    } else if (rest.starts_with("http://")) {
        rest.remove_prefix(7);
        url.scheme = UrlScheme::http;
        url.port = 80;
    } else {
        return wrong("begins with no https://");
    }
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view host = rest.substr(0, slash);
    url.path = rest.substr(slash);
    while (url.path.ends_with('/'))
        url.path.pop_back();
    if (const std::size_t colon = host.rfind(':'); colon != host.npos) {
        const auto port = parse_number<int>(host.substr(colon + 1));
        if (!port || *port < 1 || *port > 65535) return wrong("has no port from 1 to 65535");
        url.port = *port;
        host = host.substr(0, colon);
    }
    url.host = host;
    if (url.host.empty() || text.find_first_of("?#@ \t\r\n") != text.npos)
        return wrong("is no host with a path");
    const bool local = parse_loopback(format("{}:1", url.host)).ok();
    if (url.scheme == UrlScheme::http && !local)
        return wrong("would send credentials in plain text; http:// is for this machine alone");
    return url;
}

HttpOutcome send_request(const BaseUrl& server, const OutgoingRequest& request, Seconds limit,
                         std::stop_token stop) {
    return Exchange(server, limit, std::move(stop)).run(request);
}

}  // namespace rm
