// Processes of a running cluster are killed, stopped and started again.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "tests/e2e/support/daemons.h"

namespace rm::e2e {
namespace {

// 100,000 steps: practically endless.
const std::string kEndless =
    "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";
// A step of these takes some 30 ms on two ranks.
std::string stages_of(int num_steps) {
    return format("  - {{context: 256, batch: 512, tokens: {}, learning_rate: 1e-3}}\n",
                  512 * num_steps);
}

double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// A controller, two workers of one slot each, and a job whose rank r runs on worker r or 1 - r.
class Fault : public Daemons {
protected:
    Fault() : Daemons(2) {}
    void SetUp() override {
        start_controller();
        for (const char* name : {"w0", "w1"})
            start_worker(name);
    }

    static void kill_now(std::unique_ptr<Process>& process) {
        process->signal(SIGKILL);
        process->wait(Seconds{5});
    }

    std::string job_state() {
        const Json shown = job();
        return shown.is_object() ? shown.value("state", "") : "";
    }
    std::int64_t last_step() {
        const Json shown = job();
        if (!shown.is_object() || !shown.contains("lastStep") || !shown["lastStep"].is_object()) {
            return 0;
        }
        return shown["lastStep"].value("step", std::int64_t{0});
    }
    bool reaches_step(std::int64_t step) {
        const bool reached = wait_until(Seconds{60}, [&] { return last_step() >= step; });
        EXPECT_TRUE(reached) << job().dump(2);
        return reached;
    }
    bool reaches_state(const std::string& state, Seconds limit = Seconds{60}) {
        const bool reached = wait_until(limit, [&] { return job_state() == state; });
        EXPECT_TRUE(reached) << job().dump(2);
        return reached;
    }
    Json newest_attempt() { return job()["attempts"].back(); }
    std::string log_of(int rank) { return there({"logs", job_, "--rank", format("{}", rank)}).out; }

    // The directory of the attempt that a worker runs.
    std::string attempt_dir(const std::string& worker) const {
        return path(format("{}/attempts/e{}", worker, epoch_));
    }
    Json attempt_file(const std::string& worker, const std::string& name) const {
        return Json::parse(read_file(attempt_dir(worker) + "/" + name), nullptr, false);
    }
    pid_t shim_of(const std::string& worker) const {
        return attempt_file(worker, "shim.json")["pid"];
    }
    // The process of this worker's only rank.
    pid_t rank_process_of(const std::string& worker) const {
        return attempt_file(worker, "shim.json")["ranks"][0]["pid"];
    }
    int rank_of(const std::string& worker) const {
        return attempt_file(worker, "attempt.json")["ranks"][0]["rank"];
    }

    // Expects every step once in both logs: nothing was repeated and no line was lost.
    void expect_whole_logs(std::int64_t num_steps) {
        for (const int rank : {0, 1})
            EXPECT_EQ(steps_in(log_of(rank)), one_to(num_steps)) << "rank " << rank;
    }
    void say(const std::string& text) { std::cout << "    " << text << std::endl; }

    const std::int64_t epoch_ = 1;  // of the first attempt
};

TEST_F(Fault, TrainingGoesOnWithoutItsControllerAndLosesNothing) {
    constexpr std::int64_t kSteps = 300;
    submit_job({.stages = stages_of(kSteps)});
    ASSERT_TRUE(reaches_step(3));
    sleep(chosen_delay());
    const pid_t before = rank_process_of("w0");
    kill_now(controller_);
    sleep(Seconds{1});
    EXPECT_EQ(kill(before, 0), 0) << "it trains without a controller";
    start_controller();
    ASSERT_TRUE(reaches_state("succeeded"));
    const Json shown = job();
    EXPECT_EQ(shown["attempts"].size(), 1u) << "re-attached, not started again";
    EXPECT_TRUE(reaches_step(kSteps)) << "reports may come after the end, but they come";
    EXPECT_TRUE(wait_until(Seconds{20}, [&] {
        return steps_in(log_of(0)).size() == static_cast<std::size_t>(kSteps) &&
               steps_in(log_of(1)).size() == static_cast<std::size_t>(kSteps);
    }));
    expect_whole_logs(kSteps);
    say(format("rank process {} trained {} steps in one attempt over a kill of the controller",
               before, kSteps));
}

TEST_F(Fault, AnAttemptThatWasLaunchedStartsThoughTheControllerIsKilledFirst) {
    submit_job({.stages = stages_of(20)});
    ASSERT_TRUE(wait_until(Seconds{30}, [&] {
        return std::filesystem::exists(attempt_dir("w0") + "/launch.json") &&
               std::filesystem::exists(attempt_dir("w1") + "/launch.json");
    }));
    sleep(chosen_delay());
    kill_now(controller_);
    const bool begun = !steps_in(read_file(attempt_dir("w0") + "/rank-0.log")).empty();
    start_controller();
    ASSERT_TRUE(reaches_state("succeeded"));
    EXPECT_EQ(job()["attempts"].size(), 1u) << job().dump(2);
    say(format("killed {} the first step; one attempt, {} steps", begun ? "after" : "before",
               last_step()));
}

TEST_F(Fault, AWorkerThatIsKilledFindsItsAttemptAgain) {
    constexpr std::int64_t kSteps = 300;
    submit_job({.stages = stages_of(kSteps)});
    ASSERT_TRUE(reaches_step(3));
    sleep(chosen_delay());
    const pid_t before = rank_process_of("w1");
    kill_now(workers_["w1"]);
    sleep(Seconds{0.5});
    EXPECT_EQ(kill(before, 0), 0) << "it trains without its worker";
    start_worker("w1");
    ASSERT_TRUE(reaches_state("succeeded"));
    EXPECT_EQ(job()["attempts"].size(), 1u) << job().dump(2);
    EXPECT_TRUE(wait_until(Seconds{20}, [&] {
        return steps_in(log_of(0)).size() == static_cast<std::size_t>(kSteps) &&
               steps_in(log_of(1)).size() == static_cast<std::size_t>(kSteps);
    }));
    expect_whole_logs(kSteps);
    say(format("rank process {} went on; {} steps once each in both logs", before, kSteps));
}

TEST_F(Fault, ARankThatIsKilledFailsItsAttemptAtOnceByName) {
    submit_job({.stages = kEndless, .extra = "retry: {max: 0}\n"});
    ASSERT_TRUE(reaches_step(3));
    sleep(chosen_delay());
    const int rank = rank_of("w1");
    const double begin = seconds_now();
    kill(rank_process_of("w1"), SIGKILL);
    ASSERT_TRUE(reaches_state("failed", Seconds{10}));
    const std::string failure = job()["failure"];
    say(format("after {:.1} s: {}", seconds_now() - begin, failure));
    EXPECT_EQ(failure, format("rank {}: ended by signal 9 (SIGKILL)", rank));
}

TEST_F(Fault, AKilledRanksJobIsTriedAgainFromItsLastCheckpoint) {
    constexpr std::int64_t kSteps = 200;
    submit_job({.stages = stages_of(kSteps), .extra = "checkpoint: {every: 10 steps}\n"});
    ASSERT_TRUE(reaches_step(12));
    sleep(chosen_delay());
    kill(rank_process_of("w0"), SIGKILL);
    ASSERT_TRUE(reaches_state("succeeded", Seconds{90}));
    const Json attempts = job()["attempts"];
    ASSERT_EQ(attempts.size(), 2u) << job().dump(2);
    const std::int64_t saved = attempts[0].value("lastCheckpointStep", std::int64_t{0});
    EXPECT_GE(saved, 10);
    const auto steps = steps_in(log_of(0));
    ASSERT_FALSE(steps.empty());
    // The kill may come between a checkpoint's last rename and its report.
    EXPECT_GE(steps.front(), saved + 1) << "the newest attempt's log";
    EXPECT_EQ((steps.front() - 1) % 10, 0) << "the newest attempt's log";
    EXPECT_EQ(steps.back(), kSteps);
    say(format("attempt 1: {}; attempt 2 trained steps {} to {}", attempts[0].value("cause", ""),
               steps.front(), steps.back()));
}

TEST_F(Fault, ARankThatIsStoppedBySignalIsNamed) {
    submit_job({.stages = kEndless, .extra = "retry: {max: 0}\n"});
    ASSERT_TRUE(reaches_step(5));
    sleep(chosen_delay());
    const int rank = rank_of("w1");
    const double begin = seconds_now();
    kill(rank_process_of("w1"), SIGSTOP);
    ASSERT_TRUE(reaches_state("failed", Seconds{30}));
    const std::string failure = job()["failure"];
    say(format("after {:.1} s: {}", seconds_now() - begin, failure));
    EXPECT_NE(failure.find(format("rank {}", rank)), std::string::npos) << failure;
}

TEST_F(Fault, AWorkerThatIsKilledWithItsShimHasLostItsRank) {
    submit_job({.stages = kEndless, .extra = "retry: {max: 0}\n"});
    ASSERT_TRUE(reaches_step(3));
    sleep(chosen_delay());
    const pid_t shim = shim_of("w1");
    kill_now(workers_["w1"]);
    const double begin = seconds_now();
    kill(shim, SIGKILL);
    ASSERT_TRUE(wait_until(Seconds{10}, [&] {
        const std::string state = job_state();
        return state == "stopping" || state == "failed";
    })) << job().dump(2);
    const double seen = seconds_now() - begin;
    start_worker("w1");  // says that no process is left
    ASSERT_TRUE(reaches_state("failed", Seconds{30}));
    say(format("seen after {:.1} s: {}", seen, job()["failure"].get<std::string>()));
    EXPECT_NE(job()["failure"].get<std::string>(), "");
}

}  // namespace
}  // namespace rm::e2e
