#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/support/prometheus.h"

// `parallel: auto` and `memory: auto` through real daemons: what the planner finds is what ranks
// take, a quarter of the memory trains to the same loss, what cannot fit is told at submit, and a
// user at a terminal sees the plan and is asked.
namespace rm::e2e {
namespace {

using testing::HasSubstr;

const std::string kQuestion = "Submit it\\? \\[Y/n\\] $";
constexpr const char* kEndOfInput = "\x04";
constexpr const char* kInterrupt = "\x03";

class PlanTest : public E2eTest {
protected:
    void SetUp() override {
        write_file(path("prices.yaml"),
                   "cpu: {price: {per_device_hour: 36, currency: USD, date: 2026-11-01}}\n");
        up_ = up(state_, {"--workers", "1", "--devices-per-worker", "2", "--profile", "now",
                          "--prices", path("prices.yaml"), "--http", "127.0.0.1:0"});
        ASSERT_TRUE(up_);
        job_ = write_job({.stages = "  - {context: 8192, batch: 8192, tokens: 16384, "
                                    "learning_rate: 2e-3}\n",
                          .parallel = "auto"});  // and a tile, on which arithmetic depends
    }
    void TearDown() override {
        if (up_) stop(*up_);
    }

    std::vector<std::string> with(std::vector<std::string> arguments,
                                  const std::vector<std::string>& settings) const {
        for (const std::string& setting : settings)
            arguments.insert(arguments.end(), {"--set", setting});
        return arguments;
    }
    Json plan_with(const std::vector<std::string>& settings) {
        const Finished done = at(state_, with({"plan", job_, "-o", "json"}, settings));
        EXPECT_EQ(done.code, 0) << done.err;
        return Json::parse(done.out, nullptr, false);
    }
    Finished submit_with(const std::vector<std::string>& settings) {
        return at(state_, with({"submit", job_}, settings));
    }
    Json trained(const std::vector<std::string>& settings) {
        const Finished submitted = submit_with(settings);
        EXPECT_EQ(submitted.code, 0) << submitted.err;
        const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
        if (!wait_for_state(state_, id, "succeeded", Seconds{120})) return {};
        Json job;
        wait_until(Seconds{30}, [&] {
            job = show(state_, id);
            return job.contains("lastStep") && job["lastStep"].value("step", 0) == 2;
        });
        return job;
    }
    static std::int64_t planned(const Json& plan) {
        return plan.at("predicted").at("deviceBytes").get<std::int64_t>();
    }
    // A limit below the plan's cost refuses the job with the cheapest plan beside it.
    void expect_a_limit_of_cost() {
        const Json reply = plan_with({});
        const double cost = reply.at("cost").at("money").get<double>();
        EXPECT_DOUBLE_EQ(cost,
                         0.02 * reply.at("plan").at("predicted").at("allSeconds").get<double>());
        const Finished refused = submit_with({format("resources.max_cost_usd={}", 0.01 * cost)});
        EXPECT_EQ(refused.code, 4) << refused.out;
        EXPECT_THAT(refused.err, HasSubstr("the fastest plan, "));
        EXPECT_THAT(refused.err, HasSubstr(" USD, more than max_cost_usd "));
        EXPECT_THAT(refused.err, testing::AnyOf(HasSubstr("; the cheapest plan, "),
                                                HasSubstr("; no other number of devices")));
        trained({format("resources.max_cost_usd={}", 20 * cost)});
    }
    // The cost of a killed attempt counts: the next one reaches the limit and is stopped.
    void expect_a_stop_at_the_limit() {
        const std::vector<std::string> longer = {"stages.0.tokens=80K", "retry.max=5"};
        const double limit = 1.02 * plan_with(longer).at("cost").at("money").get<double>();
        const Finished submitted =
            submit_with({longer[0], longer[1], format("resources.max_cost_usd={}", limit)});
        ASSERT_EQ(submitted.code, 0) << submitted.err;
        const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
        ASSERT_TRUE(wait_until(Seconds{60}, [&] { return show(state_, id).contains("lastStep"); }));
        kill(pid_of_rank_0(show(state_, id)), SIGKILL);
        ASSERT_TRUE(wait_for_state(state_, id, "failed", Seconds{120}));
        const Json job = show(state_, id);
        EXPECT_EQ(job.at("attempts").size(), 2U);
        EXPECT_THAT(job.at("failure").get<std::string>(), HasSubstr("was stopped: it has cost "));
        EXPECT_GE(job.at("cost").at("money").get<double>(), limit);
        EXPECT_GE(job.at("attempts").at(1).value("lastCheckpointStep", 0), 1)
            << "it stops with a checkpoint";
        std::cout << at(state_, {"explain", id}).out;
    }
    pid_t pid_of_rank_0(const Json& job) const {
        const std::string name =
            format("e{}/shim.json", job.at("attempts").back().at("epoch").get<int>());
        for (const auto& entry : std::filesystem::recursive_directory_iterator(state_)) {
            if (!entry.path().string().ends_with(name)) continue;
            return Json::parse(read_file(entry.path().string()))["ranks"][0]["pid"].get<pid_t>();
        }
        ADD_FAILURE() << "there is no " << name;
        return 0;
    }
    // `submit` with a user at a terminal.
    Finished typed(const std::vector<std::string>& arguments, const std::vector<Typed>& user) {
        std::vector<std::string> all = {"submit", job_};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return on_terminal(state_, all, user);
    }
    std::ptrdiff_t num_jobs() {
        const std::string ids = at(state_, {"ls", "-a", "-o", "name"}).out;
        return std::count(ids.begin(), ids.end(), '\n');
    }
    static void expect_a_plan(const std::string& text) {
        for (const char* row : {"mesh  ", "memory  ", "step  ", "all steps  ", "takes  ", "costs "})
            EXPECT_THAT(text, HasSubstr(row));
    }
    // Neither no, nor the end of the input, nor Ctrl-C, which --follow holds back, makes a job.
    void expect_a_no_to_leave_it() {
        expect_a_plan(at(state_, {"submit", job_, "--dry-run"}).out);
        const auto before = num_jobs();
        const Finished no = typed({}, {{kQuestion, "n\n"}});
        EXPECT_EQ(no.code, 130) << no.out;
        expect_a_plan(no.out);
        EXPECT_THAT(no.out, testing::EndsWith("nothing was submitted\r\n"));
        EXPECT_EQ(typed({}, {{kQuestion, kEndOfInput}}).code, 130);
        EXPECT_EQ(typed({}, {{kQuestion, kInterrupt}}).code, 130);
        const Finished interrupted =
            typed({"--follow"}, {{kQuestion, "what\n"}, {kQuestion, kInterrupt}});
        EXPECT_EQ(interrupted.code, 130) << interrupted.out;
        EXPECT_THAT(interrupted.out, testing::EndsWith("nothing was submitted\r\n"));
        EXPECT_EQ(num_jobs(), before);
    }
    void expect_a_yes_to_submit_it() {
        const auto before = num_jobs();
        const Finished followed = typed({"--follow"}, {{kQuestion, "\n"}});
        EXPECT_EQ(followed.code, 0) << followed.out;
        const Finished unasked = typed({"--yes"}, {});
        EXPECT_EQ(unasked.code, 0) << unasked.out;
        expect_a_plan(unasked.out);
        EXPECT_THAT(unasked.out, Not(HasSubstr("Submit it")));
        const Finished for_programs = typed({"-o", "json"}, {});
        EXPECT_EQ(for_programs.code, 0) << for_programs.out;
        EXPECT_THAT(for_programs.out, testing::StartsWith("{"));
        EXPECT_EQ(num_jobs(), before + 3);
    }
    // A job that the controller refuses, and one that waits for devices.
    void expect_a_question_only_where_submit_would_take_it() {
        const std::string pinned = "memory.device=64KiB";
        const Finished refused = typed({"--set", pinned}, {});
        EXPECT_EQ(refused.code, 4) << refused.out;
        std::string same = submit_with({pinned}).err;
        EXPECT_THAT(same, HasSubstr("no plan fits"));
        same.replace(same.size() - 1, 1, "\r\n");
        EXPECT_EQ(refused.out, same);
        const Finished waits =
            typed({"--set", "resources.devices=3", "--name", "waits"}, {{kQuestion, "yes\n"}});
        EXPECT_EQ(waits.code, 0) << waits.out;
        EXPECT_THAT(waits.out, testing::StartsWith("no plan yet: "));
        EXPECT_EQ(at(state_, {"cancel", "waits"}).code, 0);
    }

    // The bytes that its rank 0 takes of its device.
    static std::int64_t taken(const Json& job) {
        std::int64_t total = 0;
        for (const auto& [kind, bytes] : job.at("lastStep").at("memoryBytes").items()) {
            if (!kind.starts_with("host")) total += bytes.get<std::int64_t>();
        }
        return total;
    }

    // The error of a running job's plan, as a Prometheus finds it.
    void expect_a_metric_of_the_error() {
        if (!Prometheus::is_there())
            GTEST_SKIP() << Prometheus::kProgram
                         << " is not installed; all but its part was tested";
        const std::string out = up_->out();
        const std::size_t at_http = out.find("http://") + 7;
        const Prometheus prometheus({out.substr(at_http, out.find('/', at_http) - at_http)},
                                    path("prometheus"));
        const Finished submitted = submit_with({"stages.0.tokens=8M"});
        ASSERT_EQ(submitted.code, 0) << submitted.err;
        const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
        const auto error_of = [&](const std::string& quantity) {
            return prometheus.query(
                format("ringmaster_plan_error_ratio{{run=\"{}\",quantity=\"{}\"}}", id, quantity));
        };
        Json memory, step;
        ASSERT_TRUE(wait_until(Seconds{60}, [&] {
            memory = error_of("device_memory");
            step = error_of("step");
            return !memory.empty() && !step.empty();
        })) << prometheus.err();
        EXPECT_EQ(Prometheus::value_of(memory.at(0)), 0) << "exact to the byte";
        std::cout << "    the plan's step is off by " << Prometheus::value_of(step.at(0)) << '\n';
        at(state_, {"cancel", "--now", id});
    }

    const std::string state_ = path("state");
    std::unique_ptr<Process> up_;
    std::string job_;
};

// Long enough for activations to be most of the memory.
std::vector<std::string> at_16k(std::vector<std::string> settings = {}) {
    settings.insert(settings.begin(),
                    {"stages.0.context=16K", "stages.0.batch=16K", "stages.0.tokens=32K"});
    return settings;
}

TEST_F(PlanTest, AQuarterOfTheMemoryTrainsToTheSameLossAndWhatCannotFitIsRefused) {
    const std::int64_t whole = planned(plan_with(at_16k()).at("plan"));
    const Json resident = trained(at_16k());
    const Json& first = resident.at("attempts").at(0);
    EXPECT_EQ(planned(first), whole) << "the plan of an idle cluster is the plan of the attempt";
    EXPECT_EQ(taken(resident), whole);
    EXPECT_GT(first.at("predicted").at("stepSeconds").get<double>(), 0);
    EXPECT_GT(first.value("zero", 0), 0) << "a stage that keeps less takes no longer";

    const Json limited = trained(at_16k({format("memory.device={}B", whole / 4)}));
    const Json& second = limited.at("attempts").at(0);
    EXPECT_NE(second.at("memory"), first.at("memory"));
    EXPECT_LE(planned(second), whole / 4);
    EXPECT_EQ(taken(limited), planned(second));
    EXPECT_EQ(limited.at("lastStep").at("loss"), resident.at("lastStep").at("loss"))
        << "no policy changes a bit";

    const std::string half = format("memory.device={}B", whole / 2);
    const Finished refused =
        submit_with(at_16k({half, "memory.alpha=1", "memory.offload=off", "memory.windows=off"}));
    EXPECT_EQ(refused.code, 4) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("no plan fits; the nearest, "));
    EXPECT_THAT(refused.err, HasSubstr("it fits with memory: {offload: auto, windows: auto} ("));
    const Json mended = trained(at_16k({half, "memory.alpha=1", "memory.offload=auto"}));
    EXPECT_EQ(mended.at("attempts").at(0).at("memory").at("kept"), "host");
    expect_a_limit_of_cost();
    expect_a_stop_at_the_limit();
    expect_a_no_to_leave_it();
    expect_a_yes_to_submit_it();
    expect_a_question_only_where_submit_would_take_it();
    expect_a_metric_of_the_error();
}

}  // namespace
}  // namespace rm::e2e
