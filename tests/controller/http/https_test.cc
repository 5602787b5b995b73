#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>
#include <openssl/ssl.h>

#include <fstream>

#include "service/http/http_server.h"
#include "service/security/tokens.h"
#include "tests/controller/fake_worker.h"
#include "tests/controller/secured.h"

// The HTTP side of a controller with TLS: the same gatekeeper, and JSON of the same messages.
namespace rm::test {
namespace {

using Json = nlohmann::json;

struct Reply {
    int status = 0;  // 0: no handshake, or no answer
    std::string head;
    std::string body;
};

struct Ask {
    std::string line = "GET /api/v1/jobs";
    std::string headers;
    std::string body;
    std::string host = "localhost";
    std::string certificate;  // path; its key is beside it
    int newest_version = TLS1_3_VERSION;
};

std::string exchange(BIO* bio, const std::string& request) {
    std::string answer;
    if (BIO_write(bio, request.data(), static_cast<int>(request.size())) <= 0) return answer;
    char buffer[4096];
    for (int got = 0; (got = BIO_read(bio, buffer, sizeof buffer)) > 0;)
        answer.append(buffer, static_cast<std::size_t>(got));
    return answer;
}

// Sends one request over TLS on a connection of its own, and verifies the server.
Reply ask(const Secured& server, const Ask& what) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    SSL_CTX_set_max_proto_version(context.get(), what.newest_version);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_locations(context.get(), server.authority.ca.c_str(), nullptr);
    if (!what.certificate.empty()) {
        SSL_CTX_use_certificate_chain_file(context.get(), what.certificate.c_str());
        SSL_CTX_use_PrivateKey_file(context.get(), (what.certificate + ".key").c_str(),
                                    SSL_FILETYPE_PEM);
    }
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_ssl_connect(context.get()),
                                                            BIO_free_all);
    BIO_set_conn_hostname(bio.get(), server.daemon->http_address().c_str());
    if (BIO_do_handshake(bio.get()) != 1) return {};
    const std::string answer = exchange(
        bio.get(), format("{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: "
                          "{}\r\n{}\r\n{}",
                          what.line, what.host, what.body.size(), what.headers, what.body));
    const std::size_t split = answer.find("\r\n\r\n");
    if (split == std::string::npos) return {};
    return {std::stoi(answer.substr(9, 3)), answer.substr(0, split), answer.substr(split + 4)};
}

std::string bearer(const ClientSecurity& security) {
    return format("Authorization: Bearer {}\r\n", read_token_file(security.token_file).value());
}

struct Https : testing::Test, Secured {
    std::string submission() {
        pb::SubmitRequest request;
        *request.mutable_spec() = to_proto(small_spec());
        request.set_request_id("r");
        std::string text;
        EXPECT_TRUE(google::protobuf::util::MessageToJsonString(request, &text).ok());
        return text;
    }
};

TEST_F(Https, SpeaksTls13AndNothingOlder) {
    const std::string viewer = bearer(with_token("v", Role::viewer));
    EXPECT_EQ(ask(*this, {.headers = viewer}).status, 200);
    EXPECT_EQ(ask(*this, {.headers = viewer, .newest_version = TLS1_2_VERSION}).status, 0);
}

TEST_F(Https, PlainTextIsClosedAndNothingIsServed) {
    const std::string answer =
        plain_exchange(daemon->http_address(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_LE(answer.size(), 7u) << "a TLS alert at most";
    EXPECT_TRUE(audit().empty());
}

TEST_F(Https, AnswersBesideMoreSilentHandshakesThanItHasPlaces) {
    using Connection = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
    std::vector<Connection> silent;
    for (std::size_t i = 0; i < HttpLimits().connections + 20; ++i) {
        silent.emplace_back(BIO_new_connect(daemon->http_address().c_str()), BIO_free_all);
        ASSERT_EQ(BIO_do_connect(silent.back().get()), 1) << i;
    }
    EXPECT_EQ(ask(*this, {.headers = bearer(with_token("v", Role::viewer))}).status, 200);
}

TEST_F(Https, WithoutACredentialTheReasonIsInTheAnswerAndTheAddressInTheAudit) {
    const Reply reply = ask(*this, {});
    EXPECT_EQ(reply.status, 401);
    EXPECT_NE(reply.head.find("WWW-Authenticate: Bearer"), std::string::npos) << reply.head;
    EXPECT_EQ(Json::parse(reply.body)["code"], 16);
    EXPECT_NE(reply.body.find("no credential"), std::string::npos);
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].method(), "/ringmaster.v1.JobService/List");
    EXPECT_EQ(rows[0].peer().substr(0, 10), "127.0.0.1:");
}

TEST_F(Https, ClientCertificatesAreJudgedLikeOnGrpc) {
    EXPECT_EQ(ask(*this, {.certificate = authority.client("v", Role::viewer)}).status, 200);
    const WallTime then = today() + Seconds{-3 * kDay.value};
    const Reply late = ask(*this, {.certificate = authority.client("late", Role::admin, then)});
    EXPECT_EQ(late.status, 401);
    EXPECT_NE(late.body.find("the certificate of 'late' expired"), std::string::npos) << late.body;
    Authority other(directory, "other");
    EXPECT_EQ(ask(*this, {.certificate = other.client("m", Role::admin)}).status, 401);
    EXPECT_EQ(ask(*this, {.certificate = authority.client("n", Role::worker)}).status, 403);
}

TEST_F(Https, AJobIsSubmittedReadAndCancelled) {
    const std::string headers =
        bearer(with_token("alice", Role::submitter)) + "X-Ringmaster: 1\r\n";
    const Reply made =
        ask(*this, {.line = "POST /api/v1/jobs", .headers = headers, .body = submission()});
    ASSERT_EQ(made.status, 200) << made.body;
    const std::string id = Json::parse(made.body)["jobId"];
    const Reply shown = ask(*this, {.line = "GET /api/v1/jobs/" + id, .headers = headers});
    EXPECT_EQ(Json::parse(shown.body)["owner"], "alice");
    EXPECT_EQ(Json::parse(shown.body)["numSteps"], "10") << "64 bits are a string";
    const Reply ended = ask(*this, {.line = "POST /api/v1/jobs/" + id + ":cancel",
                                    .headers = headers,
                                    .body = "{\"now\": true}"});
    EXPECT_EQ(Json::parse(ended.body)["state"], "JOB_STATE_CANCELLED") << ended.body;
    const Reply history =
        ask(*this, {.line = "GET /api/v1/history?state=cancelled&name=", .headers = headers});
    EXPECT_EQ(Json::parse(history.body)["jobs"].size(), 1u) << history.body;
    const auto listed = [&](const std::string& query) {
        const Reply list = ask(*this, {.line = "GET /api/v1/jobs" + query, .headers = headers});
        return Json::parse(list.body).value("jobs", Json::array()).size();
    };
    EXPECT_EQ(listed(""), 1u);
    EXPECT_EQ(listed("?ended=no"), 0u);
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].method(), "/ringmaster.v1.JobService/Cancel");
    EXPECT_EQ(rows[0].subject(), id);
    EXPECT_EQ(rows[1].subject(), id);
    EXPECT_EQ(rows[1].principal(), "alice");
}

TEST_F(Https, ChangesNeedTheHeaderThatPagesOfElsewhereCannotSend) {
    const std::string headers = bearer(with_token("alice", Role::submitter));
    const Reply refused =
        ask(*this, {.line = "POST /api/v1/jobs", .headers = headers, .body = submission()});
    EXPECT_EQ(refused.status, 403);
    EXPECT_NE(refused.body.find("X-Ringmaster"), std::string::npos);
    EXPECT_TRUE(audit().empty());
}

TEST_F(Https, AViewerSubmitsNothing) {
    const std::string headers = bearer(with_token("v", Role::viewer)) + "X-Ringmaster: 1\r\n";
    const Reply refused =
        ask(*this, {.line = "POST /api/v1/jobs", .headers = headers, .body = submission()});
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(Json::parse(refused.body)["code"], 7);
    EXPECT_EQ(audit().size(), 1u);
}

TEST_F(Https, AnswersToTheNamesOfItsCertificateAlone) {
    const std::string viewer = bearer(with_token("v", Role::viewer));
    for (const char* host : {"localhost", "127.0.0.1:7071", "controller.lab", "controller.lab:1"})
        EXPECT_EQ(ask(*this, {.headers = viewer, .host = host}).status, 200) << host;
    for (const char* host : {"evil.example", "controller.lab.evil.example", "10.0.0.1"})
        EXPECT_EQ(ask(*this, {.headers = viewer, .host = host}).status, 403) << host;
}

TEST_F(Https, ErrorsHaveTheirStatusAndTheirWords) {
    const std::string headers = bearer(with_token("a", Role::admin)) + "X-Ringmaster: 1\r\n";
    const auto status = [&](const std::string& line, const std::string& body = "") {
        return ask(*this, {.line = line, .headers = headers, .body = body}).status;
    };
    EXPECT_EQ(status("GET /api/v1/jobs/zzz"), 404);
    EXPECT_EQ(status("POST /api/v1/jobs/zzz:cancel"), 404);
    EXPECT_EQ(status("POST /api/v1/jobs", "{\"nope\": 1}"), 400);
    EXPECT_EQ(status("POST /api/v1/jobs", "{"), 400);
    EXPECT_EQ(status("GET /api/v1/history?state=tired"), 400);
    EXPECT_EQ(status("POST /api/v1/nodes"), 405);
    EXPECT_EQ(status("GET /api/v1/jobs/x:explode"), 404);
    EXPECT_EQ(status("GET /api/v1/nothing"), 404);
    const Reply missing = ask(*this, {.line = "GET /api/v1/jobs/zzz", .headers = headers});
    EXPECT_EQ(Json::parse(missing.body)["message"], "there is no job 'zzz'");
}

TEST_F(Https, MetricsAreForViewers) {
    EXPECT_EQ(ask(*this, {.line = "GET /metrics"}).status, 401);
    EXPECT_EQ(ask(*this, {.line = "GET /api/v1/sd"}).status, 401);
    const std::string viewer = bearer(with_token("prometheus", Role::viewer));
    EXPECT_EQ(ask(*this, {.line = "GET /metrics", .headers = viewer}).status, 200);
    Hello hello = hello_of("n1", 1);
    hello.inventory.http_address = "https://n1.lab:7072";
    FakeWorker worker(socket, hello);
    worker.take<HelloReply>();
    const auto target = [](const std::string& address, const char* role) {
        return Json{{"targets", {address}}, {"labels", {{"role", role}, {"__scheme__", "https"}}}};
    };
    EXPECT_EQ(Json::parse(ask(*this, {.line = "GET /api/v1/sd", .headers = viewer}).body),
              Json::array(
                  {target(daemon->http_address(), "controller"), target("n1.lab:7072", "worker")}));
}

std::string cookie_of(const Reply& reply) {
    const std::string name = "Set-Cookie: ";
    const std::size_t begin = reply.head.find(name);
    if (begin == std::string::npos) return "";
    const std::size_t value = begin + name.size();
    return reply.head.substr(value, reply.head.find("\r\n", value) - value);
}

std::string cookie_header(const std::string& cookie) {
    return "Cookie: other=1; " + cookie.substr(0, cookie.find(';')) + "\r\n";
}

TEST_F(Https, ABrowserLogsInWithATokenForACookieThatNoScriptReads) {
    const std::string token = bearer(with_token("ada", Role::submitter));
    const Ask login{.line = "POST /api/v1/login", .headers = token + "X-Ringmaster: 1\r\n"};
    const Reply in = ask(*this, login);
    ASSERT_EQ(in.status, 200) << in.body;
    const std::string cookie = cookie_of(in);
    for (const char* part : {"; HttpOnly", "; SameSite=Strict", "; Secure", "; Path=/"})
        EXPECT_NE(cookie.find(part), std::string::npos) << part << " in " << cookie;
    EXPECT_EQ(cookie.find(token.substr(22, 20)), std::string::npos) << "it is not the token";
    const std::string kept = cookie_header(cookie);
    EXPECT_EQ(ask(*this, {.headers = kept}).status, 200);
    EXPECT_EQ(
        ask(*this, {.line = "POST /api/v1/jobs", .headers = kept, .body = submission()}).status,
        403)
        << "a cookie alone changes nothing";
    const std::string marked = kept + "X-Ringmaster: 1\r\n";
    EXPECT_EQ(
        ask(*this, {.line = "POST /api/v1/jobs", .headers = marked, .body = submission()}).status,
        200);
    EXPECT_EQ(audit()[0].principal(), "ada");
    EXPECT_EQ(ask(*this, {.line = "POST /api/v1/logout", .headers = marked}).status, 200);
    EXPECT_EQ(ask(*this, {.headers = kept}).status, 401);
}

TEST_F(Https, AWithdrawnTokenEndsItsLogins) {
    const std::string token = bearer(with_token("ada", Role::viewer)) + "X-Ringmaster: 1\r\n";
    const std::string kept =
        cookie_header(cookie_of(ask(*this, {.line = "POST /api/v1/login", .headers = token})));
    EXPECT_EQ(ask(*this, {.headers = kept}).status, 200);
    ASSERT_TRUE(write_file_atomically(tokens, ""));
    EXPECT_EQ(ask(*this, {.headers = kept}).status, 401);
}

TEST_F(Https, LoginsWithoutAValidTokenAreRefusedAndRecorded) {
    const std::string wrong = "Authorization: Bearer " + make_token() + "\r\nX-Ringmaster: 1\r\n";
    const Reply refused = ask(*this, {.line = "POST /api/v1/login", .headers = wrong});
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(cookie_of(refused), "");
    ASSERT_EQ(audit().size(), 1u);
    EXPECT_EQ(audit()[0].method(), "/api/v1/login");
    const std::string token = bearer(with_token("ada", Role::viewer));
    EXPECT_EQ(ask(*this, {.line = "POST /api/v1/login", .headers = token}).status, 403)
        << "another site's form may send this";
    EXPECT_EQ(ask(*this, {.line = "GET /api/v1/login", .headers = token}).status, 405);
    EXPECT_EQ(ask(*this, {.headers = "Cookie: ringmaster=" + make_token() + "\r\n"}).status, 401);
}

TEST_F(Https, ThePageIsForAllAndItsDataIsNot) {
    const Reply page = ask(*this, {.line = "GET /", .headers = "Accept-Encoding: gzip\r\n"});
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(ask(*this, {.line = "GET /api/v1/stream"}).status, 401);
    EXPECT_EQ(ask(*this, {.line = "GET /api/v1/links"}).status, 401);
    EXPECT_EQ(ask(*this, {.line = "GET /", .host = "evil.example"}).status, 403);
}

TEST(OpenMetrics, AreForThisMachineWhereTheOperatorSaysSo) {
    const Secured server(MetricsAccess::open_on_loopback);
    EXPECT_EQ(ask(server, {.line = "GET /metrics"}).status, 200);
    EXPECT_EQ(ask(server, {.line = "GET /api/v1/jobs"}).status, 401);
}

}  // namespace
}  // namespace rm::test
