#include <array>
#include <chrono>

#include "controller/http/static_page.h"
#include "tests/controller/running.h"
#include "tests/support/raw_http.h"

// The built-in page's side of a controller: its files, and the stream of changes.
namespace rm::test {
namespace {

const std::string kGzip = "Accept-Encoding: gzip, deflate\r\n";

std::string head_of(const Running& running, const std::string& path,
                    const std::string& headers = kGzip) {
    RawHttp http(running.daemon->http_address());
    http.get(path, headers);
    return http.read_to("\r\n\r\n");
}

TEST(Page, IsServedWithAStrictPolicyAtEachOfItsPlaces) {
    const Running running;
    for (const char* path : {"/", "/runs", "/runs/abc123", "/runs/abc123/plan", "/cluster"}) {
        const std::string head = head_of(running, path);
        EXPECT_TRUE(head.starts_with("HTTP/1.1 200")) << path << head;
        EXPECT_NE(head.find("Content-Type: text/html"), std::string::npos) << head;
        EXPECT_NE(head.find("Content-Encoding: gzip"), std::string::npos) << head;
        EXPECT_NE(head.find("Content-Security-Policy: default-src 'none'; script-src 'self'"),
                  std::string::npos);
        EXPECT_NE(head.find("frame-ancestors 'none'"), std::string::npos);
        EXPECT_NE(head.find("X-Content-Type-Options: nosniff"), std::string::npos);
        EXPECT_NE(head.find("Referrer-Policy: no-referrer"), std::string::npos);
        EXPECT_NE(head.find("Cache-Control: no-cache"), std::string::npos) << "it names its assets";
    }
    EXPECT_TRUE(head_of(running, "/runsome").starts_with("HTTP/1.1 404"));
    EXPECT_TRUE(head_of(running, "/../etc/passwd").starts_with("HTTP/1.1 404"));
}

TEST(Page, SaysWhatToSendToAClientThatTakesNoGzip) {
    const Running running;
    RawHttp http(running.daemon->http_address());
    http.get("/");
    const std::string answer = http.read_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 406")) << answer;
    EXPECT_NE(answer.find("curl --compressed"), std::string::npos);
}

TEST(Page, ValidatesByETagAndKeepsNamedContentsForever) {
    const PageFile index{"/index.html", "text/html", "\"aa\"", "zip", false};
    const PageFile asset{"/assets/x-12345678.js", "text/javascript", "\"bb\"", "zip", true};
    const std::array files = {index, asset};
    HttpRequest request{.method = "GET", .path = "/runs", .accept_encoding = "gzip"};
    EXPECT_EQ(static_page(request, files)->body, "zip");
    EXPECT_EQ(static_page(request, files)->cache_control, "no-cache");
    request.if_none_match = "W/\"aa\", \"zz\"";
    EXPECT_EQ(static_page(request, files)->status, 304);
    request = {.method = "GET", .path = "/assets/x-12345678.js", .accept_encoding = "gzip"};
    EXPECT_EQ(static_page(request, files)->cache_control, "public, max-age=31536000, immutable");
    request.path = "/assets/missing.js";
    EXPECT_FALSE(static_page(request, files));
    request = {.method = "POST", .path = "/"};
    EXPECT_EQ(static_page(request, files)->status, 405);
}

TEST(Page, EveryEmbeddedFileIsGzipWithATypeAndATag) {
    ASSERT_FALSE(page_files().empty());
    for (const PageFile& file : page_files()) {
        EXPECT_TRUE(file.gzip.starts_with("\x1f\x8b")) << file.path;
        EXPECT_FALSE(file.content_type.empty()) << file.path;
        EXPECT_EQ(file.etag.size(), 18u) << file.path;
    }
}

TEST(Stream, TellsOfJobsNodesAndStepsWithinASecond) {
    Running running;
    RawHttp page(running.daemon->http_address());
    page.get("/api/v1/stream");
    EXPECT_NE(page.read_to("event: reset\n").find("text/event-stream"), std::string::npos);
    JoinedWorker worker(running.address, hello_of("a", 1));
    EXPECT_NE(page.read_to("event: node\n"), "");
    const std::string node = page.read_to("\n\n");
    EXPECT_NE(node.find("\"id\":\"a\""), std::string::npos) << node;
    const std::string id = running.submit(small_spec());
    const Epoch epoch = worker.take<LaunchAttempt>().epoch;
    page.read_to("event: job\n");
    EXPECT_NE(page.read_to("\n\n").find(id), std::string::npos);
    const auto began = std::chrono::steady_clock::now();
    TelemetrySender(running).send(TelemetrySender::step(epoch, 1, 5.5));
    page.read_to("event: step\n");
    const std::string step = page.read_to("\n\n");
    EXPECT_NE(step.find("\"jobId\":\"" + id + "\""), std::string::npos) << step;
    EXPECT_NE(step.find("\"loss\":5.5"), std::string::npos) << step;
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

TEST(Stream, LeavesThePlacementsAndTheFileOutOfJobs) {
    Running running;
    RawHttp page(running.daemon->http_address());
    page.get("/api/v1/stream");
    page.read_to("event: reset\n");
    JoinedWorker worker(running.address, hello_of("a", 2));
    running.submit(small_spec(ring(2)));
    worker.take<LaunchAttempt>();
    const std::string events = page.read_to("ATTEMPT_STATE_STARTING");
    EXPECT_NE(events.find("ATTEMPT_STATE_STARTING"), std::string::npos);
    EXPECT_EQ((events + page.read_to("\n\n")).find("placement"), std::string::npos);
    EXPECT_EQ(events.find("name: small"), std::string::npos);
}

TEST(PageApi, ReadsExplanationsLogsAndLinks) {
    Running running;
    JoinedWorker worker(running.address, hello_of("a", 1));
    const std::string id = running.submit(small_spec());
    const Epoch epoch = worker.take<LaunchAttempt>().epoch;
    TelemetrySender(running).send(TelemetrySender::log(epoch, 0, 8, "one\ntwo\n"));
    const auto body = [&](const std::string& path) {
        RawHttp http(running.daemon->http_address());
        http.get("/api/v1/" + path);
        return http.read_all();
    };
    EXPECT_NE(body("jobs/" + id + "/explain").find("\"findings\":["), std::string::npos);
    EXPECT_NE(body("jobs/" + id + "/plan").find("\"ranking\":{"), std::string::npos);
    EXPECT_NE(body("jobs/" + id + "/logs?tail=1").find("\"offset\":\"4\",\"data\":\"dHdvCg==\""),
              std::string::npos)
        << body("jobs/" + id + "/logs?tail=1");
    EXPECT_NE(body("jobs/" + id + "/logs?rank=x").find("rank=x is not a whole number"),
              std::string::npos);
    EXPECT_NE(body("top?job=" + id).find("\"ranks\":["), std::string::npos);
    EXPECT_NE(body("links").find("\"survey\":"), std::string::npos);
    EXPECT_NE(body("jobs/" + id + "/nothing").find("HTTP/1.1 404"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
