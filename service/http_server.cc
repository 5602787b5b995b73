#include "service/http_server.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>  // Boost 1.74 in C++20 needs it before Asio

#include "service/address.h"
#include "service/log.h"

namespace rm {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAcceptRetry = std::chrono::milliseconds(100);

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

// What all connections share; outlives them.
struct Shared {
    HttpHandler handler;
    HttpLimits limits;
    std::size_t open_connections = 0;
};

std::chrono::nanoseconds to_chrono(Seconds seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds.value * 1e9));
}

std::string_view view(beast::string_view text) {
    return {text.data(), text.size()};
}

// A browser tricked by a rebound name sends that name as Host; local clients send a loopback one.
bool is_local_host(std::string_view host) {
    const bool has_port = host.rfind(':') != std::string_view::npos && !host.ends_with(']');
    return parse_loopback(has_port ? std::string(host) : format("{}:0", host)).ok();
}

HttpResponse plain(int status, std::string text) {
    return {.status = status, .body = std::move(text)};
}

// Why the request does not reach the handler, if it does not.
std::optional<HttpResponse> refusal(const Request& request) {
    const auto method = request.method();
    if (method != http::verb::get && method != http::verb::head && method != http::verb::post) {
        return plain(
            405, format("{} is not served; GET, HEAD or POST\n", view(request.method_string())));
    }
    const auto host = request.find(http::field::host);
    if (host == request.end()) {
        if (request.version() < 11) return std::nullopt;
        return plain(400, "the Host header is missing\n");
    }
    if (is_local_host(view(host->value()))) return std::nullopt;
    return plain(403, format("host '{}' is not a name of this server; use 127.0.0.1 or localhost\n",
                             view(host->value())));
}

HttpRequest to_request(Request& request) {
    const std::string target(view(request.target()));
    const auto question = target.find('?');
    return {.method = request.method() == http::verb::post ? "POST" : "GET",
            .path = target.substr(0, question),
            .query = question == std::string::npos ? "" : target.substr(question + 1),
            .body = std::move(request.body())};
}

HttpResponse answer(const Shared& shared, Request& request) {
    if (auto refused = refusal(request)) return *std::move(refused);
    try {
        return shared.handler(to_request(request));
    } catch (const std::exception& e) {
        log_event(LogLevel::error, "http_handler_failed",
                  {{"target", view(request.target())}, {"error", e.what()}});
        return plain(500, format("{}\n", e.what()));
    }
}

Response to_message(HttpResponse response, const Request& request) {
    Response message(static_cast<http::status>(response.status), request.version());
    message.set(http::field::content_type, response.content_type);
    message.set(http::field::cache_control, "no-store");
    message.set("X-Content-Type-Options", "nosniff");
    message.set(http::field::content_length, std::to_string(response.body.size()));
    message.keep_alive(request.keep_alive());
    if (request.method() != http::verb::head) message.body() = std::move(response.body);
    return message;
}

// One client: read, answer, again. Owned by its pending operation, of which there is exactly one,
// and so gone when that ends without starting the next: the shared_ptr's owners are the operation's
// handlers.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
        ++shared_.open_connections;
    }
    ~Connection() { --shared_.open_connections; }

    void read() {
        parser_.emplace();
        parser_->header_limit(shared_.limits.header_bytes);
        parser_->body_limit(shared_.limits.body_bytes);
        stream_.expires_after(to_chrono(shared_.limits.timeout));
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](error_code failure, std::size_t) {
                             self->on_read(failure);
                         });
    }

private:
    void on_read(error_code failure) {
        if (!failure) {
            Request request = parser_->release();
            return write(to_message(answer(shared_, request), request));
        }
        if (const auto refused = malformed(failure)) {
            Request request;
            request.keep_alive(false);
            write(to_message(*refused, request));
        }
    }

    // Nothing when there is nobody to tell: the client went away or was too slow.
    std::optional<HttpResponse> malformed(error_code failure) const {
        if (failure == http::error::header_limit) {
            return plain(
                431, format("the header is larger than {} bytes\n", shared_.limits.header_bytes));
        }
        if (failure == http::error::body_limit) {
            return plain(413,
                         format("the body is larger than {} bytes\n", shared_.limits.body_bytes));
        }
        const bool went_away = failure == http::error::end_of_stream ||
                               failure == http::error::partial_message ||
                               failure.category() != http::make_error_code({}).category();
        if (went_away) return std::nullopt;
        return plain(400, format("not HTTP: {}\n", failure.message()));
    }

    void write(Response response) {
        response_ = std::move(response);
        stream_.expires_after(to_chrono(shared_.limits.timeout));
        http::async_write(stream_, response_,
                          [self = shared_from_this()](error_code failure, std::size_t) {
                              self->on_written(failure);
                          });
    }

    void on_written(error_code failure) {
        if (failure) return;
        if (response_.keep_alive()) return read();
        stream_.socket().shutdown(tcp::socket::shutdown_send, failure);
    }

    beast::tcp_stream stream_;
    Shared& shared_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    Response response_;
};

Error cannot_listen(const HostPort& address, const error_code& failure) {
    return make_error(ErrorCode::unavailable,
                      "cannot listen on http address {}: {}; choose another port, or 0 for any",
                      to_string(address), failure.message());
}

}  // namespace

struct HttpServer::Impl {
    Shared shared;  // before io: connections end with it
    asio::io_context io{1};
    tcp::acceptor acceptor{io};
    asio::steady_timer retry{io};
    HostPort bound;
    std::thread thread;

    Status listen(const HostPort& address) {
        error_code failure;
        const tcp::endpoint endpoint(asio::ip::make_address(address.host),
                                     static_cast<unsigned short>(address.port));
        acceptor.open(endpoint.protocol(), failure);
        if (!failure) acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
        if (!failure) acceptor.bind(endpoint, failure);
        if (!failure) acceptor.listen(tcp::acceptor::max_listen_connections, failure);
        if (failure) return cannot_listen(address, failure);
        bound = {address.host, acceptor.local_endpoint().port()};
        return {};
    }

    void accept() {
        acceptor.async_accept([this](error_code failure, tcp::socket socket) {
            if (failure) return accept_later();
            if (shared.open_connections < shared.limits.connections) {
                std::make_shared<Connection>(std::move(socket), shared)->read();
            }
            accept();
        });
    }

    // Out of descriptors, most likely: trying at once would spin.
    void accept_later() {
        retry.expires_after(kAcceptRetry);
        retry.async_wait([this](error_code) { accept(); });
    }
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::string_view address, HttpHandler handler,
                                                      HttpLimits limits) {
    RM_TRY(const HostPort parsed, parse_loopback(address));
    auto impl = std::make_unique<Impl>();
    impl->shared.handler = std::move(handler);
    impl->shared.limits = limits;
    RM_RETURN_IF_ERROR(impl->listen(parsed));
    impl->accept();
    impl->thread = std::thread([io = &impl->io] { io->run(); });
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
    impl_->io.stop();
    impl_->thread.join();
}

int HttpServer::port() const {
    return impl_->bound.port;
}

std::string HttpServer::address() const {
    return to_string(impl_->bound);
}

}  // namespace rm
