#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "service/security/pki.h"

namespace rm {

class EventFeed;

struct HttpRequest {
    std::string method;  // GET or POST; HEAD arrives as GET, its body is left out of the answer
    std::string path;    // without the query, as sent (not decoded)
    std::string query;   // after '?', as sent
    std::string body;
    std::string host;  // as the caller calls this server; one of its names
    std::string peer;  // host:port
    bool over_tls = false;
    std::string certificate;  // of the client, PEM, not judged; empty: none
    // Headers; empty: none.
    std::string authorization;
    std::string cookie;
    std::string accept_encoding;
    std::string if_none_match;
    // X-Ringmaster is present: the page of another site did not send the request, because browsers
    // let it set such a header only after asking the server.
    bool is_marked = false;
};

struct HttpResponse {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    std::string cache_control = "no-store";
    std::vector<std::pair<std::string, std::string>> headers;  // further ones
    // Outlives the server. Set: the answer is a stream of its messages, after `body`, without end.
    EventFeed* feed = nullptr;
    // Set: the answer is what this returns. It is called on another thread and may take seconds.
    std::function<HttpResponse()> later = nullptr;
};

// Called on the server's one thread: it must not block for longer than a commit takes; an answer
// that takes longer comes `later`. An exception becomes a 500 with its message.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpLimits {
    std::uint32_t header_bytes = 16 * 1024;
    std::uint64_t body_bytes = 1024 * 1024;
    Seconds timeout{30};  // to send a whole request, to take a whole answer, or idle between two
    Seconds handshake{5};
    Seconds heartbeat{15};  // of a silent stream of events: finds clients that went away
    // Beyond this, a new connection replaces one that is not being answered: among those of the
    // address with the most connections, the one that has been silent longest.
    std::size_t connections = 256;
    // Answers that come later: so many at a time, and so many requests that wait for theirs; a
    // further one is answered 503.
    std::size_t slow_threads = 4;
    std::size_t waiting = 128;
};

// An HTTP/1.1 server with keep-alive on its own thread: on loopback, or anywhere with a
// certificate, which means TLS 1.3 and nothing older. It asks clients for a certificate and hands
// it to the handler, which judges it. Requests whose Host is neither a loopback name nor one of the
// certificate's names are answered 403, so that a foreign web page cannot read it through a
// rebound name. The destructor closes every connection and joins the threads.
class HttpServer {
public:
    // `address` is host:port; port 0 lets the system choose. UNAVAILABLE names an address in use.
    static Result<std::unique_ptr<HttpServer>> start(std::string_view address, HttpHandler handler,
                                                     HttpLimits limits = {},
                                                     const std::optional<KeyPair>& tls = {});
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    int port() const;             // the bound one
    std::string address() const;  // host:port with the bound port

private:
    struct Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
