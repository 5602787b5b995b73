#include "service/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/format.h"
#include "service/http/event_feed.h"
#include "service/security/pki.h"

namespace rm {
namespace {

struct Answer {
    int status = 0;  // 0: the connection ended without one
    std::string head;
    std::string body;
};

// A raw client: sends the given bytes and reads one answer by its Content-Length.
class Client {
public:
    explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int rc = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        RM_CHECK(rc == 0, "cannot connect to port {}", port);
        const timeval limit{.tv_sec = 10};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    ~Client() { ::close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return;  // the server has closed: reading shows it
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    bool receive() {
        char buffer[4096];
        const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
        if (n <= 0) return false;
        pending_.append(buffer, static_cast<std::size_t>(n));
        return true;
    }

    Answer read_head() {
        std::size_t end = 0;
        while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive()) return {};
        }
        Answer answer{.head = pending_.substr(0, end + 2)};
        pending_.erase(0, end + 4);
        answer.status = std::stoi(answer.head.substr(9, 3));
        return answer;
    }

    Answer read_answer() {
        Answer answer = read_head();
        if (answer.status == 0) return answer;
        const std::size_t length = std::stoul(field(answer, "Content-Length"));
        while (pending_.size() < length && receive()) {
        }
        answer.body = pending_.substr(0, length);
        pending_.erase(0, length);
        return answer;
    }

    Answer ask(std::string_view line, std::string_view more = "", std::string_view body = "") {
        send(format("{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n{}", line, more, body));
        return read_answer();
    }

    // Reads until `end` has come; what came before is in the result.
    std::string read_to(std::string_view end) {
        while (pending_.find(end) == std::string::npos && receive()) {
        }
        const std::size_t at = pending_.find(end);
        if (at == std::string::npos) return std::exchange(pending_, "");
        std::string text = pending_.substr(0, at + end.size());
        pending_.erase(0, text.size());
        return text;
    }

    bool is_closed() { return pending_.empty() && !receive(); }

    static std::string field(const Answer& answer, const std::string& name) {
        const std::size_t begin = answer.head.find("\r\n" + name + ": ");
        if (begin == std::string::npos) return "";
        const std::size_t value = begin + name.size() + 4;
        return answer.head.substr(value, answer.head.find("\r\n", value) - value);
    }

private:
    int fd_;
    std::string pending_;
};

HttpResponse echo(const HttpRequest& request) {
    if (request.path == "/none") return {.status = 404, .body = "nothing here\n"};
    if (request.path == "/throws") throw std::runtime_error("the handler broke");
    return {
        .content_type = "text/x-echo",
        .body = format("{} {} {} {}", request.method, request.path, request.query, request.body)};
}

std::unique_ptr<HttpServer> start(HttpLimits limits = {}, const std::optional<KeyPair>& tls = {}) {
    auto server = HttpServer::start("127.0.0.1:0", echo, limits, tls);
    RM_CHECK(server.ok(), "{}", server.error().message);
    return *std::move(server);
}

TEST(HttpServer, AnswersWithStatusTypeAndBody) {
    const auto server = start();
    Client client(server->port());
    const Answer found = client.ask("GET /a/b?x=1&y=%20");
    EXPECT_EQ(found.status, 200);
    EXPECT_EQ(found.body, "GET /a/b x=1&y=%20 ");
    EXPECT_EQ(Client::field(found, "Content-Type"), "text/x-echo");
    EXPECT_EQ(client.ask("GET /none").status, 404);
}

TEST(HttpServer, KeepsAConnectionForManyRequests) {
    const auto server = start();
    Client client(server->port());
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(client.ask(format("GET /{}", i)).body, format("GET /{}  ", i));
    }
    EXPECT_EQ(client.ask("GET /last", "Connection: close\r\n").status, 200);
    EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
    const auto server = start();
    Client client(server->port());
    client.send(
        "GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /2 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.read_answer().body, "GET /1  ");
    EXPECT_EQ(client.read_answer().body, "GET /2  ");
}

TEST(HttpServer, HeadHasTheLengthOfGetAndNoBody) {
    const auto server = start();
    Client client(server->port());
    client.send("HEAD /abc HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const Answer head = client.read_head();
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(Client::field(head, "Content-Length"), "10");
    EXPECT_EQ(client.ask("GET /next").body, "GET /next  ");
}

TEST(HttpServer, HandsOverTheBodyOfAPost) {
    const auto server = start();
    Client client(server->port());
    EXPECT_EQ(client.ask("POST /p?q", "Content-Length: 5\r\n", "a b c").body, "POST /p q a b c");
}

TEST(HttpServer, RefusesOtherMethodsAndWhatIsNotHttp) {
    const auto server = start();
    EXPECT_EQ(Client(server->port()).ask("DELETE /x").status, 405);
    Client garbage(server->port());
    garbage.send("hello\r\n\r\n");
    EXPECT_EQ(garbage.read_answer().status, 400);
    EXPECT_TRUE(garbage.is_closed());
    Client nameless(server->port());
    nameless.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(nameless.read_answer().status, 400);
}

TEST(HttpServer, RefusesNamesThatAreNotThisMachines) {
    const auto server = start();
    for (const std::string_view host : {"evil.example", "evil.example:80", "10.0.0.1:7071", ""}) {
        Client client(server->port());
        client.send(format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host));
        EXPECT_EQ(client.read_answer().status, 403) << host;
    }
    for (const std::string_view host :
         {"localhost", "localhost:1", "127.0.0.1:9", "[::1]", "[::1]:9"}) {
        Client client(server->port());
        client.send(format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host));
        EXPECT_EQ(client.read_answer().status, 200) << host;
    }
}

TEST(HttpServer, LimitsHeaderAndBody) {
    const auto server = start({.header_bytes = 1024, .body_bytes = 100});
    Client header(server->port());
    EXPECT_EQ(header.ask("GET /", format("X-Big: {}\r\n", std::string(2000, 'x'))).status, 431);
    EXPECT_TRUE(header.is_closed());
    Client body(server->port());
    EXPECT_EQ(body.ask("POST /", "Content-Length: 101\r\n").status, 413);
    EXPECT_TRUE(body.is_closed());
    EXPECT_EQ(Client(server->port()).ask("GET /").status, 200);
}

TEST(HttpServer, AHandlerThatThrowsIsAnAnswerAndNotTheEnd) {
    const auto server = start();
    Client client(server->port());
    const Answer broken = client.ask("GET /throws");
    EXPECT_EQ(broken.status, 500);
    EXPECT_EQ(broken.body, "the handler broke\n");
    EXPECT_EQ(client.ask("GET /").status, 200);
}

// Answers that come later wait until `go`; others come at once.
struct SlowAnswers {
    std::promise<void> go;
    std::shared_future<void> gone = go.get_future().share();
    std::atomic<int> asked = 0;
    std::unique_ptr<HttpServer> server;

    explicit SlowAnswers(HttpLimits limits = {}) {
        const auto handler = [this](const HttpRequest& request) {
            HttpResponse response = echo({.method = request.method, .path = "/now"});
            if (request.path == "/now") return response;
            ++asked;
            response.later = [this, path = request.path] {
                gone.wait();
                return echo({.method = "GET", .path = path});
            };
            return response;
        };
        server = *HttpServer::start("127.0.0.1:0", handler, limits);
    }
    void wait_until_asked(int times) const {
        while (asked < times)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

TEST(HttpServer, AnAnswerThatComesLaterDoesNotHoldUpOthers) {
    SlowAnswers slow;
    Client waiting(slow.server->port());
    waiting.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Client other(slow.server->port());
    EXPECT_EQ(other.ask("GET /now").status, 200);
    slow.go.set_value();
    EXPECT_EQ(waiting.read_answer().body, "GET /slow  ");
    EXPECT_EQ(waiting.ask("GET /again").body, "GET /again  ") << "on the same connection";
    Client broken(slow.server->port());
    EXPECT_EQ(broken.ask("GET /throws").status, 500);
}

TEST(HttpServer, RefusesMoreRequestsThanMayWait) {
    SlowAnswers slow({.slow_threads = 1, .waiting = 2});
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 2; ++i) {
        clients.push_back(std::make_unique<Client>(slow.server->port()));
        clients.back()->send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    Client third(slow.server->port());
    slow.wait_until_asked(2);
    EXPECT_EQ(third.ask("GET /slow").status, 503);
    slow.go.set_value();
    for (const auto& client : clients)
        EXPECT_EQ(client->read_answer().status, 200);
}

TEST(HttpServer, StopsWhileAnswersAreMade) {
    SlowAnswers slow({.slow_threads = 1});
    Client first(slow.server->port()), second(slow.server->port());
    first.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    second.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    slow.wait_until_asked(2);
    slow.go.set_value();
    slow.server.reset();
}

TEST(HttpServer, ASlowClientDoesNotHoldUpOthers) {
    const auto server = start();
    Client slow(server->port());
    slow.send("GET /slow HTTP/1.1\r\nHost: local");
    Client quick(server->port());
    EXPECT_EQ(quick.ask("GET /quick").status, 200);
    slow.send("host\r\n\r\n");
    EXPECT_EQ(slow.read_answer().body, "GET /slow  ");
}

TEST(HttpServer, ASilentClientIsDisconnected) {
    const auto server = start({.timeout = Seconds{0.1}});
    Client silent(server->port());
    Client half(server->port());
    half.send("GET / HT");
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(silent.is_closed());
    EXPECT_TRUE(half.is_closed());
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(HttpServer, ASilentHandshakeEndsSoonerThanASilentClient) {
    const WallTime now = SystemClock().wall();
    const KeyPair authority = make_authority("ca", now, 1).value();
    const KeyPair own =
        issue(authority, {.name = "server", .subject_names = {"127.0.0.1"}}, now).value();
    const auto server = start({.timeout = Seconds{60}, .handshake = Seconds{0.1}}, own);
    const auto began = std::chrono::steady_clock::now();
    Client silent(server->port());
    EXPECT_TRUE(silent.is_closed());
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(HttpServer, GivesTheLongestSilentOnesPlaceToANewOne) {
    const auto server = start({.connections = 2});
    Client one(server->port());
    EXPECT_EQ(one.ask("GET /").status, 200);
    Client two(server->port());
    EXPECT_EQ(two.ask("GET /").status, 200);
    EXPECT_EQ(one.ask("GET /").status, 200);
    Client three(server->port());
    EXPECT_EQ(three.ask("GET /").status, 200);
    EXPECT_TRUE(two.is_closed());
    EXPECT_EQ(one.ask("GET /").status, 200) << "it has spoken since";
}

TEST(HttpServer, AnswersBesideMoreSilentConnectionsThanItHasPlaces) {
    const auto server = start({.connections = 8});
    std::vector<std::unique_ptr<Client>> silent;
    for (int i = 0; i < 20; ++i)
        silent.push_back(std::make_unique<Client>(server->port()));
    Client asks(server->port());
    EXPECT_EQ(asks.ask("GET /").status, 200);
}

// A server whose every answer is the stream of `feed`.
struct Streaming {
    EventFeed feed{"f"};
    std::unique_ptr<HttpServer> server;

    explicit Streaming(HttpLimits limits = {}) {
        const auto handler = [this](const HttpRequest&) {
            return HttpResponse{.content_type = "text/event-stream", .feed = &feed};
        };
        server = HttpServer::start("127.0.0.1:0", handler, limits).value();
    }
};

void ask_for_events(Client& client, std::string_view more = "") {
    client.send(format("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", more));
}

TEST(HttpServer, StreamsEventsToEveryReader) {
    Streaming streaming;
    std::vector<std::unique_ptr<Client>> readers;
    for (int i = 0; i < 50; ++i) {
        readers.push_back(std::make_unique<Client>(streaming.server->port()));
        ask_for_events(*readers.back());
        const Answer head = readers.back()->read_head();
        EXPECT_EQ(Client::field(head, "Content-Type"), "text/event-stream");
        EXPECT_EQ(readers.back()->read_to("\n\n"), "id: f.0\nevent: reset\ndata: {}\n\n");
    }
    streaming.feed.publish("step", "{}");
    for (const auto& reader : readers)
        EXPECT_EQ(reader->read_to("\n\n"), "id: f.1\nevent: step\ndata: {}\n\n");
    readers.clear();
    streaming.feed.publish("step", "{}");
    streaming.feed.publish("step", "{}");
    for (int i = 0; i < 200 && streaming.feed.num_readers() > 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        streaming.feed.publish("step", "{}");
    }
    EXPECT_EQ(streaming.feed.num_readers(), 0u) << "those that went away are forgotten";
}

TEST(HttpServer, ContinuesAStreamAfterTheLastEventId) {
    Streaming streaming;
    for (int i = 1; i <= 3; ++i)
        streaming.feed.publish("step", std::to_string(i));
    Client reader(streaming.server->port());
    ask_for_events(reader, "Last-Event-ID: f.2\r\n");
    EXPECT_NE(reader.read_to("data: 3\n\n").find("id: f.3"), std::string::npos);
}

TEST(HttpServer, KeepsASilentStreamAliveAndStopsWithIt) {
    Streaming streaming({.timeout = Seconds{0.1}, .heartbeat = Seconds{0.05}});
    Client reader(streaming.server->port());
    ask_for_events(reader);
    reader.read_to("reset\ndata: {}\n\n");
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(reader.read_to("\n\n"), ":\n\n");
    streaming.server.reset();
    EXPECT_EQ(streaming.feed.num_readers(), 0u);
    reader.read_to("never");
    EXPECT_TRUE(reader.is_closed());
}

TEST(HttpServer, StopsWithClientsConnected) {
    auto server = start();
    Client idle(server->port());
    EXPECT_EQ(idle.ask("GET /").status, 200);
    Client half(server->port());
    half.send("GET / HT");
    const int port = server->port();
    server.reset();
    EXPECT_TRUE(idle.is_closed());
    const auto again = HttpServer::start(format("127.0.0.1:{}", port), echo);
    EXPECT_TRUE(again) << again.error().message;
}

TEST(HttpServer, APortInUseIsAnErrorThatNamesTheAddress) {
    const auto server = start();
    EXPECT_EQ(server->address(), format("127.0.0.1:{}", server->port()));
    const auto second = HttpServer::start(server->address(), echo);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_EQ(
        second.error().message,
        format("cannot listen on http address {}: Address already in use; choose another port, "
               "or 0 for any",
               server->address()));
}

TEST(HttpServer, AddressesBeyondLoopbackAreRefused) {
    EXPECT_EQ(HttpServer::start("0.0.0.0:0", echo).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(HttpServer::start("nonsense", echo).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace rm
