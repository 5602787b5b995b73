#include <unistd.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/prometheus.h"

namespace rm::e2e {
namespace {

constexpr const char* kPromtool = "/usr/bin/promtool";

const std::string kEndless =
    "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";

// A cluster with HTTP, a running job, and a scraper that finds its metrics by the http_sd address
// alone.
class Metrics : public E2eTest {
protected:
    void SetUp() override {
        cluster_ = up(state_, {"--workers", "2", "--listen", "127.0.0.1:0"});
        ASSERT_TRUE(cluster_);
        const std::string out = cluster_->out();
        const std::size_t at = out.find("http://") + 7;
        controller_ = out.substr(at, out.find('/', at) - at);
        job_ = submit(state_, write_job({.stages = kEndless}));
        ASSERT_TRUE(wait_for_step(state_, job_, 3));
    }
    void TearDown() override {
        if (cluster_) stop(*cluster_);
    }
    std::vector<std::string> targets() {
        std::vector<std::string> found;
        for (const Json& group : Json::parse(http_get(controller_, "/api/v1/sd"), nullptr, false)) {
            for (const Json& target : group["targets"])
                found.push_back(target);
        }
        return found;
    }

    std::string state_ = path("state");
    std::unique_ptr<Process> cluster_;
    std::string controller_;
    std::string job_;
};

TEST_F(Metrics, AreFoundThroughServiceDiscoveryOnceEach) {
    const std::vector<std::string> found = targets();
    EXPECT_EQ(found.size(), 3u) << "the controller and two workers";
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
    for (const std::string& target : found) {
        EXPECT_NE(http_get(target, "/metrics").find("ringmaster_"), std::string::npos) << target;
    }
}

// Without those that need a GPU, a price, a survey, a plan or a checkpoint.
TEST_F(Metrics, AreOnThePageOfTheirOwner) {
    const std::vector<std::string> of_controller = {"build_info",
                                                    "nodes",
                                                    "devices",
                                                    "jobs",
                                                    "job_queue_wait_seconds_count",
                                                    "job_transitions_total",
                                                    "rpc_handled_total",
                                                    "rpc_duration_seconds_count",
                                                    "node_up",
                                                    "run_info",
                                                    "train_goodput_seconds_total",
                                                    "train_badput_seconds_total",
                                                    "controller_disk_free_bytes",
                                                    "controller_disk_capacity_bytes",
                                                    "link_survey_timestamp_seconds"};
    const std::vector<std::string> of_workers = {"train_step",
                                                 "train_tokens_total",
                                                 "train_flops_total",
                                                 "train_loss",
                                                 "train_grad_norm",
                                                 "train_learning_rate",
                                                 "train_mfu_ratio",
                                                 "train_hfu_ratio",
                                                 "train_step_duration_seconds_count",
                                                 "train_median_step_seconds",
                                                 "train_phase_seconds_total",
                                                 "train_last_step_timestamp_seconds",
                                                 "train_nonfinite_steps_total",
                                                 "train_checkpoint_due_timestamp_seconds",
                                                 "rank_step_seconds",
                                                 "rank_work_seconds",
                                                 "device_memory_bytes",
                                                 "device_memory_capacity_bytes",
                                                 "host_offload_bytes",
                                                 "h2d_bytes_total",
                                                 "d2h_bytes_total",
                                                 "ring_tx_bytes_total",
                                                 "ring_wait_seconds_total",
                                                 "node_disk_free_bytes",
                                                 "node_disk_capacity_bytes",
                                                 "node_memory_available_bytes",
                                                 "node_memory_capacity_bytes"};
    std::string workers;
    for (const std::string& target : targets()) {
        if (target != controller_) workers += http_get(target, "/metrics");
    }
    const auto has = [](const std::string& page, const std::string& name) {
        return page.find("\nringmaster_" + name + "{") != std::string::npos ||
               page.find("\nringmaster_" + name + " ") != std::string::npos;
    };
    // The controller reads the accounts of a new job every few seconds.
    std::string controller;
    wait_until(Seconds{20}, [&] {
        controller = http_get(controller_, "/metrics");
        return has(controller, "train_goodput_seconds_total");
    });
    for (const std::string& name : of_controller) {
        EXPECT_TRUE(has(controller, name)) << name;
        EXPECT_FALSE(has(workers, name)) << name;
    }
    for (const std::string& name : of_workers) {
        EXPECT_TRUE(has(workers, name)) << name;
        EXPECT_FALSE(has(controller, name)) << name;
    }
}

TEST_F(Metrics, AreCleanForPromtool) {
    if (access(kPromtool, X_OK) != 0) GTEST_SKIP() << kPromtool << " is not installed";
    for (const std::string& target : targets()) {
        write_file(path("metrics.txt"), http_get(target, "/metrics"));
        const Finished checked = run(
            {"/bin/sh", "-c", std::string(kPromtool) + " check metrics < " + path("metrics.txt")});
        EXPECT_EQ(checked.code, 0) << target << "\n" << checked.out << checked.err;
        EXPECT_EQ(checked.out + checked.err, "") << target;
    }
}

class RealPrometheus : public Metrics {
protected:
    void SetUp() override {
        if (!Prometheus::is_there()) GTEST_SKIP() << Prometheus::kProgram << " is not installed";
        Metrics::SetUp();
        if (HasFatalFailure()) return;
        prometheus_ = std::make_unique<Prometheus>(std::vector{controller_}, path("prometheus"));
    }
    void TearDown() override {
        prometheus_.reset();
        Metrics::TearDown();
    }
    Json query(const std::string& expression) { return prometheus_->query(expression); }
    double value_of(const Json& series) { return Prometheus::value_of(series); }

    std::unique_ptr<Prometheus> prometheus_;
};

TEST_F(RealPrometheus, ReturnsARunningJobByQuery) {
    const std::string run = "{run=\"" + job_ + "\"}";
    const std::vector<std::string> per_run = {
        "ringmaster_train_loss" + run, "ringmaster_train_tokens_total" + run,
        "ringmaster_train_mfu_ratio" + run, "ringmaster_train_step" + run,
        "rate(ringmaster_train_step_duration_seconds_sum" + run + "[10s])"};
    for (const std::string& expression : per_run) {
        Json found;
        EXPECT_TRUE(wait_until(Seconds{40}, [&] { return !(found = query(expression)).empty(); }))
            << expression << "\n"
            << prometheus_->err();
        for (const Json& series : found)
            EXPECT_GT(value_of(series), 0) << expression;
    }
    EXPECT_EQ(query("ringmaster_train_loss" + run).size(), 1u) << "rank 0's worker owns it";
    const Json memory = query("sum by (rank) (ringmaster_device_memory_bytes" + run + ")");
    EXPECT_EQ(memory.size(), 2u) << memory.dump(2);
    const Json info = query("ringmaster_run_info" + run);
    ASSERT_EQ(info.size(), 1u);
    EXPECT_EQ(info[0]["metric"]["model"], "micro");
    const std::string step = "ringmaster_train_step" + run;
    const double then = value_of(query(step)[0]);
    EXPECT_TRUE(wait_until(Seconds{30}, [&] {
        const Json now = query(step);
        return !now.empty() && value_of(now[0]) > then;
    }));
}

TEST_F(RealPrometheus, SeesNoSeriesTwice) {
    ASSERT_TRUE(wait_until(Seconds{40}, [&] {
        return query("up{job=\"ringmaster\"} == 1").size() == 3 &&
               !query("ringmaster_train_loss").empty();
    })) << prometheus_->err();
    std::map<std::string, std::set<std::string>> owners;
    for (const Json& series : query("{__name__=~\"ringmaster_.+\"}")) {
        Json labels = series["metric"];
        const std::string instance = labels["instance"];
        labels.erase("instance");
        owners[labels.dump()].insert(instance);
    }
    EXPECT_GT(owners.size(), 10u);
    for (const auto& [series, instances] : owners)
        EXPECT_EQ(instances.size(), 1u) << series;
}

}  // namespace
}  // namespace rm::e2e
