#include "service/http/http_server.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>  // Boost 1.74 in C++20 needs it before Asio

#include "service/address.h"
#include "service/http/event_feed.h"
#include "service/http/http_tls.h"
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

// The facts about a connection that decide which one to replace.
class Place {
public:
    virtual ~Place() = default;
    virtual void give_up() = 0;

    std::string host;  // of the client
    bool answering = false;
    std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
};

// State that all connections share; outlives them.
struct Shared {
    HttpHandler handler;
    HttpLimits limits;
    std::optional<asio::ssl::context> tls;
    std::set<Place*> places;
    asio::thread_pool* slow = nullptr;  // where answers that come later are made
    std::size_t waiting = 0;            // for them
};

// The connection to replace. Null: all are being answered.
Place* place_to_take(const Shared& shared) {
    std::map<std::string_view, std::size_t> counts;
    for (const Place* place : shared.places)
        ++counts[place->host];
    Place* found = nullptr;
    const auto rank = [&](const Place& place) {
        return std::pair(counts[place.host], -place.heard.time_since_epoch());
    };
    for (Place* place : shared.places) {
        if (place->answering) continue;
        if (found == nullptr || rank(*place) > rank(*found)) found = place;
    }
    return found;
}

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

// The host without its port.
std::string_view name_in(std::string_view host) {
    const auto colon = host.rfind(':');
    const bool has_port = colon != std::string_view::npos && !host.ends_with(']');
    return has_port ? host.substr(0, colon) : host;
}

bool is_own_name(Shared& shared, std::string_view host) {
    if (is_local_host(host)) return true;
    return shared.tls && !host.empty() && names(*shared.tls, name_in(host));
}

// Why the request does not reach the handler, if it does not.
std::optional<HttpResponse> refusal(Shared& shared, const Request& request) {
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
    if (is_own_name(shared, view(host->value()))) return std::nullopt;
    return plain(403,
                 format("host '{}' is not a name of this server; use {}\n", view(host->value()),
                        shared.tls ? "one of its certificate" : "127.0.0.1 or localhost"));
}

// Facts that all requests of one connection share.
struct Caller {
    std::string peer;
    bool over_tls = false;
    std::string certificate;
};

HttpRequest to_request(Request& request, const Caller& caller) {
    const std::string target(view(request.target()));
    const auto question = target.find('?');
    const auto header = [&](auto name) { return std::string(view(request[name])); };
    return {.method = request.method() == http::verb::post ? "POST" : "GET",
            .path = target.substr(0, question),
            .query = question == std::string::npos ? "" : target.substr(question + 1),
            .body = std::move(request.body()),
            .host = header(http::field::host),
            .peer = caller.peer,
            .over_tls = caller.over_tls,
            .certificate = caller.certificate,
            .authorization = header(http::field::authorization),
            .cookie = header(http::field::cookie),
            .accept_encoding = header(http::field::accept_encoding),
            .if_none_match = header(http::field::if_none_match),
            .is_marked = request.count("X-Ringmaster") > 0};
}

template <typename Make>
HttpResponse made(const Make& make, const std::string& target) {
    try {
        return make();
    } catch (const std::exception& e) {
        log_event(LogLevel::error, "http_handler_failed",
                  {{"target", target}, {"error", e.what()}});
        return plain(500, format("{}\n", e.what()));
    }
}

HttpResponse answer(Shared& shared, Request& request, const Caller& caller) {
    if (auto refused = refusal(shared, request)) return *std::move(refused);
    const std::string target(view(request.target()));
    return made([&] { return shared.handler(to_request(request, caller)); }, target);
}

Response to_message(HttpResponse response, const Request& request) {
    Response message(static_cast<http::status>(response.status), request.version());
    message.set(http::field::content_type, response.content_type);
    message.set(http::field::cache_control, response.cache_control);
    message.set("X-Content-Type-Options", "nosniff");
    message.set("Referrer-Policy", "no-referrer");
    message.set("Cross-Origin-Resource-Policy", "same-origin");
    if (response.status == 401) message.set(http::field::www_authenticate, "Bearer");
    for (const auto& [name, value] : response.headers)
        message.set(name, value);
    // A stream ends with its connection.
    const bool streams = response.feed != nullptr;
    if (!streams) message.set(http::field::content_length, std::to_string(response.body.size()));
    message.keep_alive(request.keep_alive() && !streams);
    if (request.method() != http::verb::head) message.body() = std::move(response.body);
    return message;
}

std::string address_of(const tcp::socket& socket) {
    error_code failure;
    const tcp::endpoint remote = socket.remote_endpoint(failure);
    return failure ? "" : to_string(HostPort{remote.address().to_string(), remote.port()});
}

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// One client: reads a request, answers it, and starts over. The handlers of its one pending
// operation own it through shared_ptr, so it is destroyed when an operation ends without starting
// the next.
template <typename Stream>
class Connection final : public Place, public std::enable_shared_from_this<Connection<Stream>> {
public:
    template <typename... Arguments>
    Connection(Shared& shared, Arguments&&... arguments)
        : stream_(std::forward<Arguments>(arguments)...),
          shared_(shared),
          alarm_(stream_.get_executor()) {
        caller_.peer = address_of(beast::get_lowest_layer(stream_).socket());
        host = std::string(name_in(caller_.peer));
        shared_.places.insert(this);
    }
    ~Connection() override {
        if (feed_ != nullptr) feed_->forget(reader_);
        shared_.places.erase(this);
    }

    // The pending operation then ends with an error, and so the connection ends.
    void give_up() override {
        beast::get_lowest_layer(stream_).close();
        alarm_.cancel();
    }

    void start() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            limit_time(shared_.limits.handshake);
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [self = this->shared_from_this()](error_code failure) {
                                        if (!failure) self->on_handshake();
                                    });
        } else {
            read();
        }
    }

private:
    void on_handshake() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            caller_.over_tls = true;
            caller_.certificate = peer_certificate(stream_.native_handle());
        }
        read();
    }

    void limit_time() { limit_time(shared_.limits.timeout); }
    void limit_time(Seconds limit) {
        beast::get_lowest_layer(stream_).expires_after(to_chrono(limit));
    }

    void read() {
        parser_.emplace();
        parser_->header_limit(shared_.limits.header_bytes);
        parser_->body_limit(shared_.limits.body_bytes);
        limit_time();
        http::async_read(stream_, buffer_, *parser_,
                         [self = this->shared_from_this()](error_code failure, std::size_t) {
                             self->on_read(failure);
                         });
    }

    void on_read(error_code failure) {
        if (!failure) {
            Request request = parser_->release();
            HttpResponse response = answer(shared_, request, caller_);
            if (response.later) return answer_later(std::move(response.later), std::move(request));
            if (request.method() == http::verb::head) response.feed = nullptr;
            if (response.feed != nullptr) attend(*response.feed, view(request["Last-Event-ID"]));
            return write(to_message(std::move(response), request));
        }
        if (const auto refused = malformed(failure)) {
            Request request;
            request.keep_alive(false);
            write(to_message(*refused, request));
        }
    }

    // The last owner of a connection must be on the server's thread: the other one hands it back.
    void answer_later(std::function<HttpResponse()> make, Request request) {
        if (shared_.waiting >= shared_.limits.waiting)
            return write(to_message(plain(503, "too many requests wait for an answer\n"), request));
        ++shared_.waiting;
        answering = true;
        asio::post(*shared_.slow, [self = this->shared_from_this(), make = std::move(make),
                                   request = std::move(request)]() mutable {
            HttpResponse response = made(make, std::string(view(request.target())));
            const auto executor = self->stream_.get_executor();
            asio::post(executor, [self = std::move(self),
                                  message = to_message(std::move(response), request)] {
                --self->shared_.waiting;
                self->write(message);
            });
        });
    }

    // nullopt if there is no client to tell: the client went away or was too slow.
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
        answering = true;
        response_ = std::move(response);
        limit_time();
        http::async_write(stream_, response_,
                          [self = this->shared_from_this()](error_code failure, std::size_t) {
                              self->on_written(failure);
                          });
    }

    void on_written(error_code failure) {
        if (failure) return;
        answering = false;
        this->heard = std::chrono::steady_clock::now();
        if (feed_ != nullptr) return write_events();
        if (response_.keep_alive()) return read();
        close();
    }

    // Begins with the first message, before any other is published.
    void attend(EventFeed& feed, std::string_view last_event_id) {
        feed_ = &feed;
        const auto [place, first] = feed.begin(last_event_id);
        place_ = place;
        texts_ = {first};
        // The alarm's executor wakes the connection, if it is there still.
        const auto wake = [weak = this->weak_from_this(), executor = stream_.get_executor()] {
            asio::post(executor, [weak] {
                if (const auto self = weak.lock()) self->alarm_.cancel();
            });
        };
        reader_ = feed.attend(wake);
    }

    void write_events() {
        if (texts_.empty()) texts_ = feed_->take(place_);
        if (texts_.empty()) return wait_for_events();
        std::vector<asio::const_buffer> buffers;
        for (const EventFeed::Text& text : texts_)
            buffers.push_back(asio::buffer(*text));
        limit_time();
        asio::async_write(stream_, std::move(buffers),
                          [self = this->shared_from_this()](error_code failure, std::size_t) {
                              self->texts_.clear();
                              self->on_written(failure);
                          });
    }

    void wait_for_events() {
        if (!beast::get_lowest_layer(stream_).socket().is_open()) return;  // given up
        alarm_.expires_after(to_chrono(shared_.limits.heartbeat));
        alarm_.async_wait([self = this->shared_from_this()](error_code cancelled) {
            static const auto kHeartbeat = std::make_shared<const std::string>(":\n\n");
            if (!cancelled) self->texts_ = {kHeartbeat};
            self->write_events();
        });
    }

    void close() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            limit_time();
            stream_.async_shutdown([self = this->shared_from_this()](error_code) {});
        } else {
            error_code ignored;
            stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        }
    }

    Stream stream_;
    Shared& shared_;
    Caller caller_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    Response response_;
    // While it streams events:
    EventFeed* feed_ = nullptr;
    EventFeed::Place place_ = 0;
    std::uint64_t reader_ = 0;
    std::vector<EventFeed::Text> texts_;  // being written
    asio::steady_timer alarm_;
};

void serve(tcp::socket socket, Shared& shared) {
    if (shared.tls) {
        std::make_shared<Connection<TlsStream>>(shared, std::move(socket), *shared.tls)->start();
    } else {
        std::make_shared<Connection<PlainStream>>(shared, std::move(socket))->start();
    }
}

Error cannot_listen(const HostPort& address, const error_code& failure) {
    return make_error(ErrorCode::unavailable,
                      "cannot listen on http address {}: {}; choose another port, or 0 for any",
                      to_string(address), failure.message());
}

}  // namespace

struct HttpServer::Impl {
    Shared shared;  // before io, whose connections use it
    asio::io_context io{1};
    asio::thread_pool slow;  // after io, whose connections its work owns
    tcp::acceptor acceptor{io};
    asio::steady_timer retry{io};
    HostPort bound;
    std::thread thread;

    explicit Impl(const HttpLimits& limits) : slow(limits.slow_threads) {
        shared.limits = limits;
        shared.slow = &slow;
    }

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
            if (has_place()) serve(std::move(socket), shared);
            accept();
        });
    }

    bool has_place() {
        if (shared.places.size() < shared.limits.connections) return true;
        Place* const taken = place_to_take(shared);
        if (taken == nullptr) return false;
        taken->give_up();
        // It ends soon, together with its operation; until then it is not chosen again.
        taken->answering = true;
        return true;
    }

    // Probably out of descriptors: an immediate retry would spin.
    void accept_later() {
        retry.expires_after(kAcceptRetry);
        retry.async_wait([this](error_code) { accept(); });
    }
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::string_view address, HttpHandler handler,
                                                      HttpLimits limits,
                                                      const std::optional<KeyPair>& tls) {
    RM_TRY(const HostPort parsed, parse_listener(address, tls ? Wire::tls : Wire::plain));
    auto impl = std::make_unique<Impl>(limits);
    impl->shared.handler = std::move(handler);
    if (tls) {
        RM_TRY(impl->shared.tls, http_tls(*tls));
    }
    RM_RETURN_IF_ERROR(impl->listen(parsed));
    impl->accept();
    impl->thread = std::thread([io = &impl->io] { io->run(); });
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Answers that are being made are waited for; those that have not begun are given up.
HttpServer::~HttpServer() {
    impl_->slow.stop();
    impl_->slow.join();
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
