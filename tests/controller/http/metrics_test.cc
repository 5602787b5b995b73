#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "controller/http/metrics/goodput_metrics.h"
#include "controller/http/metrics/link_metrics.h"
#include "controller/http/metrics/node_metrics.h"
#include "tests/controller/running.h"
#include "tests/controller/world.h"
#include "tests/e2e/support/http_get.h"

namespace rm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::int64_t count_series(const std::string& text) {
    std::int64_t series = 0;
    for (std::size_t at = text.find("\nringmaster_"); at != std::string::npos;
         at = text.find("\nringmaster_", at + 1))
        ++series;
    return series;
}

TEST(NodeMetrics, SayWhetherANodeIsUpUntilItIsGone) {
    World world;
    world.hello("a", 2);
    EXPECT_THAT(node_metrics(world.state),
                HasSubstr("ringmaster_node_up{hostname=\"host-a\",node=\"a\"} 1\n"));
    world.state.nodes.at({"a"}).session.up = false;
    EXPECT_THAT(node_metrics(world.state),
                HasSubstr("ringmaster_node_up{hostname=\"host-a\",node=\"a\"} 0\n"));
    world.state.nodes.at({"a"}).state = NodeState::gone;
    EXPECT_THAT(node_metrics(world.state), Not(HasSubstr("node=\"a\"")));
}

TEST(NodeMetrics, AddUpThePricesOfDevicesByCurrency) {
    World world;
    world.hello("a", 3);
    EXPECT_THAT(node_metrics(world.state), Not(HasSubstr("price_per_hour{")));
    world.state.prices["cpu"].price = {.per_device_hour = 0.5, .currency = "EUR"};
    EXPECT_THAT(node_metrics(world.state),
                HasSubstr("ringmaster_node_price_per_hour{currency=\"EUR\",node=\"a\"} 1.5\n"));
}

TEST(QueueMetrics, AreOfTheHundredJobsThatHaveWaitedLongest) {
    State state;
    for (int i = 0; i < 250; ++i) {
        const JobId id{format("j{}", i)};
        state.jobs[id] = {.id = id, .submitted = {(1000 - i) * 1'000'000}};
        state.live_jobs.insert(id);
    }
    const std::string text = queue_metrics(state, {2000 * std::int64_t{1'000'000}});
    EXPECT_EQ(count_series(text), 100);
    EXPECT_THAT(text, HasSubstr("ringmaster_job_pending_seconds{run=\"j249\"} 1249\n"));
    EXPECT_THAT(text, Not(HasSubstr("run=\"j149\"")));
    state.jobs.at({"j249"}).state = JobState::running;
    EXPECT_THAT(queue_metrics(state, {}), Not(HasSubstr("run=\"j249\"")));
}

LinkBook book_of(int nodes) {
    LinkBook book;
    for (int from = 0; from < nodes; ++from) {
        book.nodes[{format("n{}", from)}] = {{10}, {20}};
        for (int to = 0; to < nodes; ++to) {
            if (to == from) continue;
            LinkState& link = book.links[{{format("n{}", from)}, {format("n{}", to)}}];
            link.bandwidth = {8};
            link.baseline = {16};
            link.latency = {0.001};
        }
    }
    return book;
}

TEST(LinkMetrics, HaveTheBaselineBesideTheBandwidth) {
    const std::string text = link_metrics(book_of(2));
    EXPECT_THAT(text, HasSubstr("ringmaster_link_bandwidth_bytes_per_second{class=\"network\","
                                "dst=\"n1\",src=\"n0\"} 1000000000\n"));
    EXPECT_THAT(text, HasSubstr("ringmaster_link_baseline_bytes_per_second{class=\"network\","
                                "dst=\"n1\",src=\"n0\"} 2000000000\n"));
}

TEST(LinkMetrics, AreOfPairsUpTo64NodesAndOfNodesAbove) {
    const std::int64_t pairs = count_series(link_metrics(book_of(64)));
    const std::int64_t nodes = count_series(link_metrics(book_of(65)));
    std::printf("links: 64 nodes have %lld series, 65 nodes %lld\n", static_cast<long long>(pairs),
                static_cast<long long>(nodes));
    EXPECT_EQ(pairs, 3 * 64 * 63 + 2);
    EXPECT_EQ(nodes, 2 * 65 + 2);
}

// Nine series for each job, however many ranks it has, until 2 minutes after its end.
TEST(GoodputMetrics, AreBoundedAndGoWithTheRun) {
    World world;
    world.hello("a", 1);
    const JobId id = world.submit(small_spec());
    GoodputBook book;
    book.put(id, {});
    EXPECT_EQ(count_series(goodput_metrics(book, world.state, world.now)), 0);
    world.plan(id, {"a"});
    EXPECT_EQ(count_series(goodput_metrics(book, world.state, world.now)), 9);
    Job& job = world.state.jobs.at(id);
    job.state = JobState::succeeded;
    job.ended = world.now;
    EXPECT_EQ(count_series(goodput_metrics(GoodputBook(), world.state, world.now)), 0)
        << "a controller that has just started has not read its accounts";
    EXPECT_EQ(count_series(goodput_metrics(book, world.state, world.now + Seconds{119})), 9);
    EXPECT_EQ(count_series(goodput_metrics(book, world.state, world.now + Seconds{121})), 0);
}

class Scraped : public ::testing::Test {
protected:
    std::string metrics() const {
        return e2e::http_get(running_.daemon->http_address(), "/metrics");
    }
    // The value of the one series that begins so; -1: there is none.
    double value(const std::string& series) const {
        const std::string text = "\n" + metrics();
        const std::size_t at = text.find("\n" + series + " ");
        return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
    }
    bool comes_to(const std::string& series, double wanted, double within = 1e-6) const {
        for (int look = 0; look < 100; ++look) {
            if (std::abs(value(series) - wanted) <= within) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        std::printf("%s is %g, not %g\n", series.c_str(), value(series), wanted);
        return false;
    }

    Running running_;
};

TEST_F(Scraped, CountsCallsByMethodAndCode) {
    const auto handled = [&](const std::string& method, const std::string& code) {
        return format("ringmaster_rpc_handled_total{{code=\"{}\",method=\"{}\"}}", code, method);
    };
    for (int i = 0; i < 3; ++i) {
        grpc::ClientContext context;
        pb::ListNodesReply nodes;
        ASSERT_TRUE(running_.nodes->List(&context, {}, &nodes).ok());
    }
    grpc::ClientContext context;
    pb::GetJobRequest request;
    request.set_job_id("abcdef");
    pb::Job job;
    ASSERT_EQ(running_.jobs->Get(&context, request, &job).error_code(), grpc::NOT_FOUND);
    e2e::http_get(running_.daemon->http_address(), "/api/v1/nodes");
    EXPECT_TRUE(comes_to(handled("NodeService/List", "ok"), 4)) << "gRPC and HTTP are one method";
    EXPECT_TRUE(comes_to(handled("JobService/Get", "not found"), 1));
    EXPECT_TRUE(comes_to("ringmaster_rpc_duration_seconds_count{method=\"NodeService/List\"}", 4));
}

TEST_F(Scraped, SaysHowMuchSpaceTheControllerHas) {
    EXPECT_GT(value("ringmaster_controller_disk_free_bytes"), 0);
    EXPECT_GE(value("ringmaster_controller_disk_capacity_bytes"),
              value("ringmaster_controller_disk_free_bytes"));
}

// Two steps before the controller restarts and two after it.
TEST_F(Scraped, CountsGoodputAcrossARestart) {
    auto worker = std::make_unique<JoinedWorker>(running_.address, hello_of("a", 1));
    const std::string id = running_.submit(small_spec());
    const Epoch epoch = worker->take<LaunchAttempt>().epoch;
    const auto send_steps = [&](std::int64_t first, std::int64_t last) {
        TelemetrySender sender(running_);
        for (std::int64_t number = first; number <= last; ++number) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            pb::TelemetryMessage message = TelemetrySender::step(epoch, number, 2.5);
            message.mutable_step()->set_seconds(0.001);
            *message.mutable_step()->mutable_time() = to_proto(SystemClock().wall());
            sender.send(message);
        }
    };
    const std::string good = "ringmaster_train_goodput_seconds_total{run=\"" + id + "\"}";
    send_steps(1, 2);
    EXPECT_TRUE(comes_to(good, 0.002, 1e-4));
    worker.reset();
    running_.restart();
    EXPECT_TRUE(comes_to(good, 0.002, 1e-4)) << "what is kept counts from the start";
    worker = std::make_unique<JoinedWorker>(running_.address, hello_of("a", 1));
    send_steps(3, 4);
    EXPECT_TRUE(comes_to(good, 0.004, 1e-4));
    EXPECT_GE(value("ringmaster_train_badput_seconds_total{cause=\"start\",run=\"" + id + "\"}"),
              0);
}

}  // namespace
}  // namespace rm::test
