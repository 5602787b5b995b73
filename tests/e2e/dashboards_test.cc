// Every expression of dashboards and rules, asked of a real Prometheus that scrapes two clusters:
// one trains on CPU slots, the other has GPUs with faults.
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/e2e/support/gpu_machine.h"
#include "tests/e2e/support/prometheus.h"

namespace rm::e2e {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = RM_SOURCE_DIR;

struct Expression {
    std::string where;  // "board / panel / letter", "alert NAME" or "record NAME"
    std::string text;
};

// Lines `key  # reason` of a file of tests/dashboards.
std::map<std::string, std::string> reasons_in(const std::string& file) {
    std::map<std::string, std::string> reasons;
    std::istringstream lines(read_file(kRoot + "/tests/dashboards/" + file));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find("  # ");
        if (line.starts_with("#") || at == std::string::npos) continue;
        reasons[line.substr(0, at)] = line.substr(at + 4);
    }
    return reasons;
}

// As Grafana does it, with everything chosen.
std::string substituted(const std::string& expression) {
    static const std::regex interval("\\$__rate_interval"), variable("\"\\$[a-z]+\"");
    return std::regex_replace(std::regex_replace(expression, interval, "15s"), variable, "\".*\"");
}

std::vector<Expression> expressions_of(const Json& board) {
    std::vector<Expression> found;
    const std::string title = board["title"];
    for (const Json& panel : board["panels"]) {
        for (const Json& target : panel.value("targets", Json::array()))
            found.push_back({format("{} / {} / {}", title, panel["title"].get<std::string>(),
                                    target["refId"].get<std::string>()),
                             substituted(target["expr"])});
    }
    for (const Json& annotation : board["annotations"]["list"]) {
        found.push_back({format("{} / annotation {}", title, annotation["name"].get<std::string>()),
                         substituted(annotation.value("expr", ""))});
    }
    return found;
}

std::vector<Expression> expressions_of_dashboards() {
    std::vector<Expression> all;
    for (const auto& entry : fs::directory_iterator(kRoot + "/dashboards/grafana")) {
        if (!entry.path().filename().string().starts_with("ringmaster-")) continue;
        const auto found = expressions_of(Json::parse(read_file(entry.path())));
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

// Names in the tables of docs/metrics.md.
std::set<std::string> documented() {
    static const std::regex row("\n\\| `(ringmaster_\\w+)`");
    const std::string page = read_file(kRoot + "/docs/metrics.md");
    std::set<std::string> names;
    for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at)
        names.insert((*at)[1]);
    return names;
}

std::string http_address(const Process& cluster) {
    const std::string out = cluster.out();
    const std::size_t at = out.find("http://") + 7;
    return out.substr(at, out.find('/', at) - at);
}

class Dashboards : public GpuMachineTest {
protected:
    void SetUp() override {
        if (!Prometheus::is_there()) GTEST_SKIP() << Prometheus::kProgram << " is not installed";
        GpuMachineTest::SetUp();
        if (IsSkipped()) return;
        start_clusters();
        if (HasFatalFailure()) return;
        train();
        prometheus_ = std::make_unique<Prometheus>(
            std::vector{http_address(*cpus_), http_address(*gpus_)}, path("prometheus"),
            Monitoring{.rules = {kRoot + "/dashboards/prometheus/rules/*.yml",
                                 kRoot + "/dashboards/prometheus/alerts/*.yml"}});
        ASSERT_TRUE(wait_until(Seconds{30}, [&] { return !prometheus_->rules().empty(); }))
            << prometheus_->err();
    }
    void TearDown() override {
        prometheus_.reset();
        for (const auto& cluster : {std::ref(cpus_), std::ref(gpus_)}) {
            if (cluster.get()) stop(*cluster.get());
        }
        GpuMachineTest::TearDown();
    }

    void start_clusters() {
        write_file(path("prices.yaml"),
                   "cpu:\n  price: {per_device_hour: 36, currency: USD, date: 2026-11-01}\n"
                   "  power: {device_watts: 100}\n");
        Json machine = test::machine_of(4);
        machine["gpus"][0]["uncorrected"] = 2;
        machine["gpus"][1]["throttle"] = 0x4 | 0x40;
        machine["gpus"][2]["xids"] = {31, 63};
        show_machine(machine);
        cpus_ = up(state_,
                   {"--workers", "2", "--listen", "127.0.0.1:0", "--prices", path("prices.yaml")});
        gpus_ = up(path("gpus"), {"--workers", "1", "--devices-per-worker", "4", "--device-kind",
                                  "cuda", "--profile", "off", "--listen", "127.0.0.1:0"});
        ASSERT_TRUE(cpus_ && gpus_);
    }
    void train() {
        write_job({.stages = "  - {context: 256, batch: 512, tokens: 51200000, "
                             "learning_rate: 1e-3}\n",
                   .extra = "checkpoint: {every: 20 steps, keep: 2}\n",
                   .evaluate = "{every: 20 steps, tokens: 1K, suites: [{every: 20 steps, lengths: "
                               "[256], depths: 2, samples: 1}]}"});
        job_ = submit(state_, path("job.yaml"));
        ASSERT_TRUE(wait_for_step(state_, job_, 30));
    }
    // Kills a rank; the job goes on from its last checkpoint.
    void restart_before_its_eyes() {
        ASSERT_TRUE(wait_until(Seconds{30}, [&] {
            return !prometheus_->query("ringmaster_job_transitions_total").empty();
        }));
        const Json shim = Json::parse(read_file(state_ + "/worker-0/attempts/e1/shim.json"));
        kill(shim["ranks"][0]["pid"].get<pid_t>(), SIGKILL);
        ASSERT_TRUE(wait_until(Seconds{60}, [&] {
            const Json attempts = show(state_, job_)["attempts"];
            return attempts.size() == 2 && attempts.back().contains("lastStep");
        }));
    }
    // A job that waits, and a call that fails.
    void ask_in_vain() {
        submit(state_, path("job.yaml"));
        EXPECT_EQ(at(state_, {"show", "nosuch"}).code, 3);
    }
    std::vector<Expression> expressions_of_rules() {
        std::vector<Expression> all;
        for (const Json& rule : prometheus_->rules()) {
            const bool alerts = rule["type"] == "alerting";
            all.push_back(
                {format("{} {}", alerts ? "alert" : "record", rule["name"].get<std::string>()),
                 rule["query"]});
        }
        return all;
    }
    std::vector<Expression> every_expression() {
        std::vector<Expression> all = expressions_of_dashboards();
        const std::vector<Expression> rules = expressions_of_rules();
        all.insert(all.end(), rules.begin(), rules.end());
        return all;
    }
    // Leaves expressions without a series; a refused one fails the test.
    void drop_answered(std::vector<Expression>& waiting) {
        std::erase_if(waiting, [&](const Expression& expression) {
            const auto found = prometheus_->query_range(expression.text);
            EXPECT_TRUE(found) << expression.where << " is refused: " << expression.text;
            return !found || !found->empty();
        });
    }

    std::string state_ = path("state");
    std::unique_ptr<Process> cpus_, gpus_;
    std::string job_;
    std::unique_ptr<Prometheus> prometheus_;
};

// Places of tests/dashboards that need no series, with their reasons.
struct Excuses {
    std::map<std::string, std::string> awaited = reasons_in("awaited.txt");  // names of series
    std::map<std::string, std::string> without = reasons_in("without_series.txt");  // places

    bool cover(const Expression& expression) const {
        return without.contains(expression.where) ||
               std::any_of(awaited.begin(), awaited.end(), [&](const auto& name) {
                   return expression.text.find(name.first) != std::string::npos;
               });
    }
};

bool is_in(const std::vector<Expression>& all, const std::string& where) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Expression& expression) { return expression.where == where; });
}

TEST_F(Dashboards, FindSeriesForEveryExpression) {
    restart_before_its_eyes();
    ask_in_vain();
    const Excuses excuses;
    const std::vector<Expression> all = every_expression();
    std::vector<Expression> waiting = all;
    constexpr int kRounds = 30;
    for (int round = 0; round < kRounds && !HasFailure(); ++round) {
        drop_answered(waiting);
        if (std::all_of(waiting.begin(), waiting.end(),
                        [&](const Expression& left) { return excuses.cover(left); }))
            break;
        sleep(Seconds{2});
    }
    for (const Expression& left : waiting)
        EXPECT_TRUE(excuses.cover(left)) << left.where << " finds no series: " << left.text;
    for (const auto& [where, reason] : excuses.without)
        EXPECT_TRUE(is_in(all, where)) << "without_series.txt: there is no " << where;
    std::cout << all.size() << " expressions, " << all.size() - waiting.size() << " with series, "
              << waiting.size() << " excused by " << excuses.awaited.size() << " series and "
              << excuses.without.size() << " places\n";
}

TEST_F(Dashboards, ShowASickFleetsAlertsAndNoOthers) {
    const std::set<std::string> wanted = {"RingmasterEccUncorrectable", "RingmasterWatchdog",
                                          "RingmasterXidApplication", "RingmasterXidHardware"};
    std::set<std::string> firing;
    EXPECT_TRUE(wait_until(Seconds{60}, [&] {
        for (const Json& series : prometheus_->query("ALERTS{alertstate=\"firing\"}"))
            firing.insert(series["metric"]["alertname"]);
        return firing == wanted;
    })) << prometheus_->query("ALERTS").dump(2);
    for (const Json& rule : prometheus_->rules())
        EXPECT_EQ(rule.value("lastError", ""), "") << rule.dump(2);
}

TEST_F(Dashboards, DescribeEverySeriesThatIsScraped) {
    const std::set<std::string> known = documented();
    ASSERT_GT(known.size(), 40u);
    Json names;
    EXPECT_TRUE(wait_until(Seconds{60}, [&] {
        names = prometheus_->query("count by (__name__) ({__name__=~\"ringmaster_.+\"})");
        return prometheus_->query("ringmaster_train_hfu_ratio").size() == 1 &&
               !prometheus_->query("ringmaster_gpu_unfit").empty();
    })) << names.dump(2);
    static const std::regex part("_(bucket|sum|count)$");
    for (const Json& series : names) {
        const std::string name = series["metric"]["__name__"];
        EXPECT_TRUE(known.contains(name) || known.contains(std::regex_replace(name, part, "")))
            << "docs/metrics.md does not have " << name;
    }
    std::cout << names.size() << " names scraped\n";
}

}  // namespace
}  // namespace rm::e2e
