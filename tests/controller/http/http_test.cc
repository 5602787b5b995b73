#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "controller/http/metrics/cost_metrics.h"
#include "controller/http/metrics/plan_metrics.h"
#include "service/address.h"
#include "tests/controller/running.h"

namespace rm::test {
namespace {

// Sends one GET; returns the head and the body of the answer.
std::pair<std::string, std::string> fetch(const std::string& address, const std::string& path) {
    const HostPort at = parse_host_port(address).value();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(at.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RM_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0, "cannot connect");
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    RM_CHECK(::write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size()),
             "short write");
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(fd);
    const std::size_t split = answer.find("\r\n\r\n");
    RM_CHECK(split != std::string::npos, "no HTTP answer: {}", answer);
    return {answer.substr(0, split), answer.substr(split + 4)};
}

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

StepReport step_of(int stage, double seconds, std::int64_t bytes) {
    StepReport step{.stage = stage};
    step.seconds = seconds;
    step.memory.add("activations", {bytes});
    return step;
}

TEST(PlanMetrics, SayHowFarTheMedianStepAndTheMemoryAreFromThePlan) {
    PlannedRun run{
        {"abc123"}, {7}, 1, {.step = {2}, .all = {20}, .device = {1000}, .host = {}}, {}};
    run.last = {step_of(1, 9, 1000), step_of(1, 2.5, 1000), step_of(1, 2, 900), step_of(0, 1, 5)};
    const std::string text = plan_metrics({run});
    EXPECT_TRUE(
        has_line(text, "ringmaster_plan_error_ratio{quantity=\"step\",run=\"abc123\"} 0.25"))
        << text;
    EXPECT_TRUE(
        has_line(text, "ringmaster_plan_error_ratio{quantity=\"device_memory\",run=\"abc123\"} 0"))
        << text;
    run.last = {step_of(0, 1, 5)};
    EXPECT_EQ(plan_metrics({run}).find("abc123"), std::string::npos)
        << "of the longest stage nothing is measured yet";
}

TEST(CostMetrics, AreTheMoneyAndTheEnergyOfRuns) {
    const std::string text =
        cost_metrics({{{"abc123"}, {.time = {60}, .money = 2.5, .currency = "EUR", .kwh = 0.5}},
                      {{"free01"}, {}}});
    EXPECT_TRUE(has_line(text, "ringmaster_run_cost{currency=\"EUR\",run=\"abc123\"} 2.5")) << text;
    EXPECT_TRUE(has_line(text, "ringmaster_run_energy_joules{run=\"abc123\"} 1800000")) << text;
    EXPECT_EQ(text.find("free01"), std::string::npos) << "nothing says what it costs";
}

struct Served : Running {
    FakeWorker worker{address, hello()};
    Served() { worker.take<HelloReply>(); }
    static Hello hello() {
        Hello hello = hello_of("a", 3);
        hello.inventory.http_address = "127.0.0.1:9999";
        return hello;
    }
    std::string metrics() { return fetch(daemon->http_address(), "/metrics").second; }
};

TEST(Metrics, CountNodesDevicesAndJobs) {
    Served served;
    const std::string id = served.submit(small_spec(ring(2)));
    const Epoch epoch = served.worker.take<LaunchAttempt>().epoch;
    const std::string text = served.metrics();
    EXPECT_TRUE(has_line(text, "ringmaster_nodes{state=\"ready\"} 1")) << text;
    EXPECT_TRUE(has_line(text, "ringmaster_devices{state=\"busy\"} 2")) << text;
    EXPECT_TRUE(has_line(text, "ringmaster_devices{state=\"free\"} 1")) << text;
    EXPECT_TRUE(has_line(text, "ringmaster_jobs{state=\"starting\"} 1")) << text;
    EXPECT_TRUE(has_line(text, "ringmaster_job_queue_wait_seconds_count 1")) << text;
    EXPECT_TRUE(
        has_line(text, "ringmaster_job_transitions_total{from=\"pending\",to=\"starting\"} 1"))
        << text;
    EXPECT_TRUE(has_line(text,
                         "ringmaster_run_info{context=\"8192\",mesh=\"ring 2\",model=\"tiny\","
                         "run=\"" +
                             id + "\",user=\"default\"} 1"))
        << text;
    EXPECT_NE(text.find("ringmaster_build_info{"), std::string::npos);
    served.worker.say(status_of(epoch, {id}, {ended(0, 0), ended(1, 0)}, Left::no));
    served.wait_for(id, pb::JOB_STATE_SUCCEEDED);
    EXPECT_TRUE(has_line(served.metrics(), "ringmaster_jobs{state=\"succeeded\"} 1"));
}

// Short of space from the beginning: the mark equals the size of the disk.
TEST(Metrics, CountTelemetryThatIsRefused) {
    Running running;
    running.daemon.reset();
    DaemonOptions options = running.options();
    options.space.telemetry = Bytes{std::int64_t{1} << 60};
    options.space.telemetry_percent = 100;
    running.start(std::move(options));
    JoinedWorker worker(running.address, hello_of("a", 1));
    const std::string id = running.submit(small_spec());
    const Epoch epoch = worker.take<LaunchAttempt>().epoch;
    for (const pb::TelemetryMessage& message :
         {TelemetrySender::step(epoch, 1, 5.5), TelemetrySender::log(epoch, 0, 3, "abc")}) {
        const grpc::Status end = TelemetrySender(running).send_refused(message);
        EXPECT_EQ(end.error_code(), grpc::RESOURCE_EXHAUSTED) << end.error_message();
    }
    EXPECT_FALSE(running.job(id).has_last_step());
    const std::string metrics = fetch(running.daemon->http_address(), "/metrics").second;
    EXPECT_TRUE(has_line(metrics, "ringmaster_telemetry_refused_total 2")) << metrics;
    EXPECT_TRUE(has_line(fetch(running.daemon->http_address(), "/metrics").second,
                         "ringmaster_telemetry_refused_total 2"))
        << "a scrape counts nothing twice";
    grpc::ClientContext context;
    pb::ListNodesReply nodes;
    ASSERT_TRUE(running.nodes->List(&context, {}, &nodes).ok());
    EXPECT_EQ(nodes.telemetry_dropped(), 2);
}

TEST(Metrics, ArePleasingToPromtool) {
    if (std::system("command -v promtool > /dev/null") != 0) GTEST_SKIP() << "no promtool here";
    Served served;
    served.submit(small_spec(ring(2)));
    served.worker.take<LaunchAttempt>();
    const std::string path = served.directory.file("metrics.txt");
    std::ofstream(path) << served.metrics();
    EXPECT_EQ(std::system(("promtool check metrics < " + path).c_str()), 0);
}

TEST(ServiceDiscovery, ListsTheControllerAndTheLiveWorkers) {
    Served served;
    const auto [head, body] = fetch(served.daemon->http_address(), "/api/v1/sd");
    EXPECT_NE(head.find("application/json"), std::string::npos) << head;
    EXPECT_EQ(body, "[{\"targets\":[\"" + served.daemon->http_address() +
                        "\"],\"labels\":{\"role\":\"controller\"}},"
                        "{\"targets\":[\"127.0.0.1:9999\"],\"labels\":{\"role\":\"worker\"}}]");
}

TEST(HttpApi, GivesJobsAndNodesAsJson) {
    Served served;
    const std::string id = served.submit(small_spec());
    EXPECT_NE(fetch(served.daemon->http_address(), "/api/v1/jobs").second.find("\"" + id + "\""),
              std::string::npos);
    EXPECT_NE(fetch(served.daemon->http_address(), "/api/v1/nodes").second.find("\"id\":\"a\""),
              std::string::npos);
    EXPECT_NE(fetch(served.daemon->http_address(), "/nope").first.find("404"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
