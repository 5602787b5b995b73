#include <algorithm>
#include <atomic>

#include "controller/store/control_store.h"
#include "ringmaster/v1/topology.grpc.pb.h"
#include "tests/controller/running.h"
#include "tests/controller/store/stored_events.h"
#include "tests/e2e/support/http_get.h"

// A survey over real sessions, from the request to the output of `links` and /metrics. The test
// answers the probes.
namespace rm::test {
namespace {

Hello probed_hello(const std::string& node) {
    Hello hello = hello_of(node, 1);
    hello.inventory.data_address = "10.0.0.1";
    hello.probe_port = 7080;
    return hello;
}

// A joined worker that answers every probe with this rate, on a thread of its own.
class ProbedWorker {
public:
    ProbedWorker(const std::string& address, const std::string& node, double gbit_per_s)
        : rate(gbit_per_s), worker_(address, probed_hello(node)), answers_([this] { answer(); }) {}
    ~ProbedWorker() {
        stopping_ = true;
        answers_.join();
    }

    // Waits until this many probes by others were announced, and returns their number: another's
    // report may reach the controller before this worker has seen the last announcement.
    int announced(int expected) const {
        for (int i = 0; i < 2000 && announced_ < expected; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return announced_;
    }
    std::atomic<double> rate;

private:
    void answer() {
        while (!stopping_) {
            if (worker_.try_take<ExpectProbe>()) ++announced_;
            const auto probe = worker_.try_take<RunProbe>();
            if (!probe) {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                continue;
            }
            ProbeReport report{.id = probe->id, .latency = {1e-4}};
            for (const int streams : probe->streams)
                report.samples.push_back({.streams = streams, .rate = {rate}, .bytes = {1000}});
            worker_.say(report);
        }
    }

    JoinedWorker worker_;
    std::atomic<int> announced_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread answers_;
};

struct Topology : testing::Test {
    Running running;
    std::unique_ptr<pb::TopologyService::Stub> stub =
        pb::TopologyService::NewStub(make_channel(running.address).value());

    pb::LinksReply links() {
        grpc::ClientContext context;
        pb::LinksReply reply;
        EXPECT_TRUE(stub->Links(&context, {}, &reply).ok());
        return reply;
    }
    bool wait_for_sessions(int count) {
        for (int i = 0; i < 2000; ++i) {
            grpc::ClientContext context;
            pb::ListNodesReply reply;
            EXPECT_TRUE(running.nodes->List(&context, {}, &reply).ok());
            const auto up = std::count_if(reply.nodes().begin(), reply.nodes().end(),
                                          [](const pb::Node& node) { return node.session_up(); });
            if (up == count) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    grpc::Status survey(pb::SurveyReply& reply) {
        grpc::ClientContext context;
        return stub->Survey(&context, {}, &reply);
    }
    // Every finding, "subject: text".
    std::string explained(const std::string& job) {
        grpc::ClientContext context;
        pb::ExplainJobRequest request;
        request.set_job_id(job);
        pb::ExplainJobReply reply;
        EXPECT_TRUE(running.jobs->Explain(&context, request, &reply).ok());
        std::string text;
        for (const pb::Finding& finding : reply.findings())
            text += finding.subject() + ": " + finding.text() + "\n";
        return text;
    }
    // Survey findings reach the core a little later than the links.
    bool explains(const std::string& job, const std::string& text) {
        for (int i = 0; i < 1000; ++i) {
            if (explained(job).find(text) != std::string::npos) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    pb::LinksReply links_after(std::int64_t number) {
        pb::LinksReply reply = links();
        for (int i = 0; i < 2000 && reply.survey().last() < number; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            reply = links();
        }
        return reply;
    }
};

TEST_F(Topology, ASurveyMeasuresEveryLinkAndKeepsItOverARestart) {
    {
        ProbedWorker a(running.address, "a", 0.4);
        ProbedWorker b(running.address, "b", 0.3);
        ASSERT_TRUE(wait_for_sessions(2));
        pb::SurveyReply started;
        ASSERT_TRUE(survey(started).ok());
        EXPECT_EQ(started.nodes(), 2);
        const pb::LinksReply found = links_after(started.survey());
        ASSERT_EQ(found.links_size(), 2);
        EXPECT_EQ(found.links(0).from(), "a");
        EXPECT_DOUBLE_EQ(found.links(0).bandwidth(), 0.4);
        EXPECT_DOUBLE_EQ(found.links(1).flow(), 0.3);
        EXPECT_TRUE(found.links(0).has_measured());
        EXPECT_EQ(found.survey().measured_links(), 2);
        EXPECT_EQ(found.survey().failed_probes(), 0);
        EXPECT_EQ(a.announced(3), 3) << "what b sends, with 1, 4 and 16 streams";
    }
    running.restart();
    stub = pb::TopologyService::NewStub(make_channel(running.address).value());
    EXPECT_EQ(links().links_size(), 2);
    grpc::ClientContext context;
    pb::LinkHistoryRequest request;
    request.set_from("a");
    request.set_to("b");
    pb::LinkHistoryReply history;
    ASSERT_TRUE(stub->LinkHistory(&context, request, &history).ok());
    ASSERT_EQ(history.samples_size(), 3);
    EXPECT_EQ(history.samples(0).streams(), 16) << "newest first";
    EXPECT_EQ(history.samples(0).measured_by(), "a");
    const std::string metrics = e2e::http_get(running.daemon->http_address(), "/metrics");
    EXPECT_NE(metrics.find("ringmaster_link_bandwidth_bytes_per_second{class=\"network\",dst=\"b\","
                           "src=\"a\"} 50000000"),
              std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find("ringmaster_link_survey_timestamp_seconds"), std::string::npos);
}

TEST_F(Topology, ADegradedLinkIsExplainedToTheJobThatUsesItAlsoAfterARestart) {
    const std::string job = running.submit(small_spec(ring(2)));
    {
        ProbedWorker a(running.address, "a", 0.4);
        ProbedWorker b(running.address, "b", 0.3);
        running.wait_for(job, pb::JOB_STATE_STARTING);
        pb::SurveyReply first;
        ASSERT_TRUE(survey(first).ok());
        links_after(first.survey());
        EXPECT_EQ(explained(job).find("degraded"), std::string::npos);
        a.rate = 0.1;
        pb::SurveyReply second;
        ASSERT_TRUE(survey(second).ok());
        links_after(second.survey());
        EXPECT_TRUE(explains(job, "link a to b: degraded for ")) << explained(job);
        EXPECT_TRUE(explains(job, ": 100 Mbit/s, its baseline is 400 Mbit/s")) << explained(job);
        EXPECT_EQ(explained(job).find("link b to a"), std::string::npos);
    }
    running.restart();
    EXPECT_TRUE(explains(job, "link a to b: degraded for ")) << explained(job);
    running.daemon.reset();
    const auto events = read_events(running.directory.file("state") + "/control.db").value();
    const auto is_note = [](const AuditEvent& event) {
        return event.kind == "attempt.link_degraded" && event.subject == "attempt/1";
    };
    EXPECT_EQ(std::count_if(events.begin(), events.end(), is_note), 1);
}

TEST_F(Topology, APlacementIsThatOfTheAttemptByTheLinksAsMeasured) {
    ProbedWorker a(running.address, "a", 0.4);
    ProbedWorker b(running.address, "b", 0.3);
    pb::SurveyReply started;
    ASSERT_TRUE(survey(started).ok());
    links_after(started.survey());
    pb::PlacementRequest request;
    request.set_job_id(running.submit(small_spec(ring(2))));
    running.wait_for(request.job_id(), pb::JOB_STATE_STARTING);
    grpc::ClientContext context;
    pb::PlacementReply reply;
    const grpc::Status status = stub->Placement(&context, request, &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.job_id(), request.job_id());
    EXPECT_EQ(reply.survey(), started.survey());
    EXPECT_TRUE(reply.placement().predicted());
    EXPECT_EQ(reply.placement().placed().ranks_size(), 2);
    EXPECT_EQ(reply.placement().hosts(0).address(), "10.0.0.1");
    const int slowest = reply.placement().groups(0).from();
    EXPECT_EQ(reply.placement().placed().ranks(slowest).node_id(), "b") << "the slower way";
    grpc::ClientContext again;
    request.set_job_id("nothing");
    EXPECT_EQ(stub->Placement(&again, request, &reply).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Topology, AWorkerWithoutAProbeServerIsNotSurveyed) {
    JoinedWorker old(running.address, hello_of("old", 1));
    ProbedWorker a(running.address, "a", 0.4);
    pb::SurveyReply reply;
    const grpc::Status status = survey(reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_NE(status.error_message().find("1 node can be surveyed"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
