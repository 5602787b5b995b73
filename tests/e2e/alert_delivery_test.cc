// Alerts on their whole way: a real cluster, a real Prometheus, a real Alertmanager.
#include <regex>
#include <set>

#include "tests/e2e/support/daemons.h"
#include "tests/e2e/support/prometheus.h"

namespace rm::e2e {
namespace {

const std::string kAlerts = std::string(RM_SOURCE_DIR) + "/dashboards/prometheus/alerts/fleet.yml";
constexpr const char* kAlertmanager = "/usr/bin/prometheus-alertmanager";

class AlertDelivery : public Daemons {
protected:
    AlertDelivery() : Daemons(2) {}
    void SetUp() override {
        if (!Prometheus::is_there()) GTEST_SKIP() << Prometheus::kProgram << " is not installed";
        if (access(kAlertmanager, X_OK) != 0) GTEST_SKIP() << kAlertmanager << " is not installed";
        start_controller({"--http", "127.0.0.1:0"});
        for (const char* name : {"w0", "w1"})
            start_worker(name);
        start_alertmanager();
        write_file(path("alerts.yml"), without_patience(read_file(kAlerts)));
        const std::string http = Json::parse(read_file(path("c/controller.json")))["http"];
        prometheus_ = std::make_unique<Prometheus>(
            std::vector{http}, path("prometheus"),
            MonitoringFiles{.rules = {path("alerts.yml")}, .alertmanager = alertmanager_address_});
    }
    // A minute of `for` takes a minute.
    static std::string without_patience(const std::string& alerts) {
        return std::regex_replace(alerts, std::regex("for: \\d+m"), "for: 1s");
    }
    void start_alertmanager() {
        write_file(path("alertmanager.yml"),
                   "route: {receiver: none}\nreceivers: [{name: none}]\n");
        alertmanager_ = start({kAlertmanager, "--config.file=" + path("alertmanager.yml"),
                               "--storage.path=" + path("alertmanager"),
                               "--web.listen-address=" + alertmanager_address_,
                               "--cluster.listen-address=", "--log.level=warn"});
    }
    void TearDown() override {
        prometheus_.reset();
        alertmanager_.reset();
    }
    // Firing alerts of a name, as Alertmanager has them.
    std::vector<Json> delivered(const std::string& name) {
        std::vector<Json> found;
        const Json all = Json::parse(http_get(alertmanager_address_, "/api/v2/alerts"), nullptr,
                                     /*allow_exceptions=*/false);
        for (const Json& alert : all.is_array() ? all : Json::array()) {
            if (alert["labels"]["alertname"] == name) found.push_back(alert);
        }
        return found;
    }
    bool arrives(const std::string& name) {
        return wait_until(Seconds{60}, [&] { return !delivered(name).empty(); });
    }
    bool knows_nodes() {
        return wait_until(
            Seconds{20}, [&] { return prometheus_->query("ringmaster_node_up == 1").size() == 2; });
    }

    const std::string alertmanager_address_ = format("127.0.0.1:{}", free_port());
    std::unique_ptr<Process> alertmanager_;
    std::unique_ptr<Prometheus> prometheus_;
};

TEST_F(AlertDelivery, BringsTheWatchdogOfAHealthyCluster) {
    ASSERT_TRUE(arrives("RingmasterWatchdog")) << prometheus_->err() << alertmanager_->err();
    const Json watchdog = delivered("RingmasterWatchdog")[0];
    EXPECT_EQ(watchdog["labels"]["severity"], "info");
    EXPECT_EQ(watchdog["annotations"]["runbook_url"], "docs/runbooks/RingmasterWatchdog.md");
    EXPECT_TRUE(delivered("RingmasterNodeLost").empty());
}

TEST_F(AlertDelivery, NamesTheNodeWhoseWorkerWasKilled) {
    ASSERT_TRUE(knows_nodes());
    workers_.at("w1")->signal(SIGKILL);
    ASSERT_TRUE(arrives("RingmasterNodeLost")) << prometheus_->query("ALERTS").dump(2);
    const std::vector<Json> lost = delivered("RingmasterNodeLost");
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost[0]["labels"]["severity"], "page");
    EXPECT_EQ(lost[0]["labels"]["node"], Json::parse(read_file(path("w1/worker.json")))["node_id"]);
}

TEST_F(AlertDelivery, PagesWhenTheControllerIsKilled) {
    ASSERT_TRUE(arrives("RingmasterWatchdog")) << prometheus_->err();
    controller_->signal(SIGKILL);
    ASSERT_TRUE(arrives("RingmasterControllerDown")) << prometheus_->query("ALERTS").dump(2);
    EXPECT_EQ(delivered("RingmasterControllerDown")[0]["labels"]["severity"], "page");
}

}  // namespace
}  // namespace rm::e2e
