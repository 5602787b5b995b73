#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/support/alert_drill.h"
#include "tests/lab/lab_cluster.h"

namespace rm::lab {

using e2e::AlertDrill;
using e2e::DrilledFault;

// Real daemons that speak TLS, on hosts of their own, watched by a real Prometheus and a real
// Alertmanager on `desk`.
class AlertLab : public LabCluster {
protected:
    AlertLab() {
        monitored_ = true;
        ranks_need_controller_ = false;
    }
    void SetUp() override { set_up({}); }
    void set_up(const std::vector<std::string>& disks) {
        if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
        if (!AlertDrill::why_not().empty()) GTEST_SKIP() << AlertDrill::why_not();
        if (!disks.empty()) {
            disk_ = std::make_unique<SmallDisk>();
            if (!disk_->why_not().empty()) GTEST_SKIP() << disk_->why_not();
        }
        for (const std::string& name : disks)
            keep_on(*disk_, name);
        LabCluster::SetUp();
        lab_->enter("desk");
        drill_ = std::make_unique<AlertDrill>(
            path("drill"), format("{}:{}", lab_->address("desk"), kControllerHttp),
            issue("viewer", "prometheus"));
    }
    ~AlertLab() override {
        drill_.reset();
        stop_all();
    }

    void train(const std::string& more = "") {
        start_workers(2);
        submit_job({.stages = kEndless, .extra = more});
        ASSERT_TRUE(reaches_step(10));
        ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return is_scraped(); }))
            << drill_->prometheus().err();
    }
    bool is_scraped() const { return !drill_->prometheus().query("ringmaster_train_step").empty(); }
    // The ranks' processes of an attempt, in order.
    std::vector<pid_t> ranks(std::int64_t epoch = 1) {
        std::vector<pid_t> pids;
        for (const std::string& host : hosts_of(static_cast<std::size_t>(epoch - 1)))
            pids.push_back(rank_process(host, epoch));
        return pids;
    }

    std::unique_ptr<SmallDisk> disk_;
    std::unique_ptr<AlertDrill> drill_;
};

}  // namespace rm::lab
