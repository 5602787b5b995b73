// The real ringmaster-worker, with real shims and ranks, under a scripted controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>

#include "tests/worker/fake_controller.h"
#include "tests/worker/http_get.h"
#include "tests/worker/support.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string worker_path() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" /
            "ringmaster-worker")
        .string();
}

// Measured once for all tests of this program.
const std::string& peak_cache() {
    static const TempDir dir;
    static const std::string path = dir.path() + "/cpu_peak.json";
    return path;
}

class WorkerProcess : public ::testing::Test {
protected:
    WorkerProcess() {
        std::filesystem::create_directory(temp_.path() + "/data");
        std::ofstream text(temp_.path() + "/data/text.txt");
        for (int i = 0; i < 4000; ++i)
            text << "line " << i << " of some text to learn from\n";
    }
    ~WorkerProcess() override {
        if (pid_ != 0) end_worker(SIGKILL);
        for (std::int64_t epoch = 1; epoch <= 3; ++epoch)
            end_attempt(epoch);
    }
    // The orphaned shim stops by itself, but not as soon as a test wants to end.
    void end_attempt(std::int64_t epoch) {
        const auto text = read_text_file(dir(epoch).shim());
        if (!text || !is_live(dir(epoch).live_lock())) return;
        ::kill(parse_shim_file(*text)->shim.pid, SIGKILL);
        EXPECT_TRUE(eventually([&] { return !is_live(dir(epoch).live_lock()); }));
    }

    void start_worker(std::vector<std::string> more = {}) {
        std::vector<std::string> argv = {
            worker_path(),          "--state",      state_,      "--controller",
            controller_->address(), "--devices",    "cpu:2",     "--http",
            "127.0.0.1:0",          "--peak-cache", peak_cache()};
        argv.insert(argv.end(), more.begin(), more.end());
        const Result<pid_t> pid = spawn({.argv = argv, .output = log_});
        ASSERT_TRUE(pid.ok()) << pid.error().message;
        pid_ = *pid;
    }
    int end_worker(int signal) {
        ::kill(pid_, signal);
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    Hello start_and_greet(std::vector<std::string> more = {}) {
        start_worker(std::move(more));
        const auto hello = controller_->wait_hello();
        EXPECT_TRUE(hello.has_value()) << worker_log();
        return hello.value_or(Hello{});
    }
    // A job on both devices that trains `steps` steps.
    LaunchAttempt launch(std::int64_t epoch, std::int64_t steps) const {
        LaunchAttempt launch{.epoch = {epoch},
                             .job = {"abc123"},
                             .ranks = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}},
                             .checkpoint_dir = temp_.path() + "/ckpt/job1"};
        launch.spec.name = "test";
        launch.spec.model.preset = "micro";
        launch.spec.data.sources = {{temp_.path() + "/data"}};
        launch.spec.stages = {{.context = 256, .batch = 512, .tokens = 512 * steps}};
        launch.spec.evaluation.tokens = 512;
        launch.spec.memory.tile = 64;
        launch.plan.mesh = *Mesh::make(1, 2, 1, 1);
        launch.spec.parallel = launch.plan.mesh;
        launch.plan.memory = {.tile_tokens = 64, .chunk_tokens = 64};
        return launch;
    }
    std::optional<AttemptStatus> wait_end() {
        return controller_->wait_status([](const auto& status) { return !status.processes_left; });
    }
    std::optional<AttemptStatus> wait_training() {
        return controller_->wait_status([](const AttemptStatus& status) {
            return status.ranks.size() == 2 && status.ranks[0].step > 2 && status.ranks[1].training;
        });
    }
    AttemptDir dir(std::int64_t epoch) const {
        return AttemptDir::of_epoch(state_ + "/attempts", {epoch});
    }
    pid_t rank_pid(int rank) const {
        return parse_shim_file(*read_text_file(dir(1).shim()))
            ->ranks.at(static_cast<std::size_t>(rank))
            .process.pid;
    }
    std::string worker_log() const {
        return read_text_file(log_).ok() ? *read_text_file(log_) : "";
    }
    std::string metrics() const {
        const auto file = nlohmann::json::parse(*read_text_file(state_ + "/worker.json"));
        return http_get(file.at("http").get<std::string>(), "/metrics");
    }

    const TempDir temp_;
    const std::string state_ = temp_.path() + "/state";
    const std::string log_ = temp_.path() + "/worker.log";
    std::optional<FakeController> controller_{std::in_place, "unix:" + temp_.path() + "/c.sock"};
    pid_t pid_ = 0;
};

constexpr std::int64_t kForever = 1'000'000;

TEST_F(WorkerProcess, SaysWhoItIs) {
    const Hello hello = start_and_greet();
    EXPECT_EQ(hello.protocol, kProtocol);
    EXPECT_EQ(hello.node.value.size(), 36u);
    EXPECT_EQ(hello.build.size(), 16u);
    EXPECT_EQ(hello.boot_id.size(), 36u);
    EXPECT_TRUE(hello.cluster.empty());
    ASSERT_EQ(hello.inventory.devices.size(), 2u);
    EXPECT_GT(hello.inventory.devices[1].fp32.flops, 1e8);
    EXPECT_GT(hello.inventory.memory.value, 1 << 20);
    EXPECT_EQ(hello.inventory.data_address, "127.0.0.1");
    EXPECT_THAT(hello.inventory.http_address, HasSubstr("127.0.0.1:"));
    const auto file = nlohmann::json::parse(*read_text_file(state_ + "/worker.json"));
    EXPECT_EQ(file.at("pid"), pid_);
    EXPECT_EQ(file.at("node_id"), hello.node.value);
    EXPECT_EQ(file.at("http"), hello.inventory.http_address);
    EXPECT_TRUE(controller_->ping(9));
    EXPECT_EQ(end_worker(SIGTERM), 0) << worker_log();
    EXPECT_FALSE(std::filesystem::exists(state_ + "/worker.json"));

    EXPECT_EQ(start_and_greet().node, hello.node);
    EXPECT_THAT(worker_log(), Not(HasSubstr(" error ")));
}

// Its sockets and files are all below it.
TEST_F(WorkerProcess, ClosesItsStateDirectoryToOthersWhateverTheUmask) {
    const mode_t mask = ::umask(0);
    std::filesystem::create_directory(state_);
    start_and_greet();
    ::umask(mask);
    struct stat facts {};
    ASSERT_EQ(::stat(state_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
}

TEST_F(WorkerProcess, TrainsAJobToItsEnd) {
    start_and_greet();
    controller_->send(launch(1, 6));
    const auto end = wait_end();
    ASSERT_TRUE(end.has_value()) << worker_log();
    for (const RankStatus& rank : end->ranks) {
        EXPECT_TRUE(rank.exited);
        EXPECT_EQ(rank.exit_code, kRankFinished) << rank.error;
        EXPECT_EQ(rank.phase, "done");
    }
    EXPECT_EQ(end->checkpoint_step, 6);
    EXPECT_THAT(end->checkpoint_path, HasSubstr("/ckpt/job1/e1-s6"));
    EXPECT_EQ(end->stages_done, 1);
    EXPECT_EQ(controller_->num_exchanges(), 1) << "on one node all is said at once";

    ASSERT_TRUE(eventually([&] {
        return controller_->steps(0).size() == 6 && controller_->steps(1).size() == 6 &&
               controller_->evaluations(0).size() == 1;
    }));
    const StepReport last = controller_->steps(0).back();
    EXPECT_EQ(last.step, 6);
    EXPECT_EQ(last.tokens_total, 6 * 512);
    EXPECT_GT(last.loss, 1.0);
    EXPECT_GT(last.causal_mfu, 0.0);
    EXPECT_TRUE(eventually([&] {
        return controller_->log(1).find("step 6/6") != std::string::npos;
    })) << controller_->log(1);
    EXPECT_TRUE(std::filesystem::exists(state_ + "/runs/abc123/metrics.jsonl"));

    const std::string text = metrics();
    EXPECT_THAT(text, HasSubstr("ringmaster_train_step{run=\"abc123\"} 6"));
    EXPECT_THAT(text, HasSubstr("ringmaster_train_tokens_total{run=\"abc123\"} 3072"));
    EXPECT_THAT(text,
                HasSubstr("ringmaster_train_mfu_ratio{convention=\"causal\",run=\"abc123\"}"));
    EXPECT_THAT(text, HasSubstr("ringmaster_rank_step_seconds{gpu=\"1\",node="));
    EXPECT_THAT(text, HasSubstr("ringmaster_train_step_duration_seconds_count{run=\"abc123\"} 6"));

    controller_->send(ForgetAttempt{{1}});
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(dir(1).path()); }));
    EXPECT_THAT(metrics(), HasSubstr("ringmaster_train_step{run=\"abc123\"} 6"));
    EXPECT_THAT(worker_log(), Not(HasSubstr(" error ")));
}

TEST_F(WorkerProcess, ReportsAFailedRankInItsOwnWords) {
    start_and_greet();
    LaunchAttempt broken = launch(1, 6);
    broken.spec.data.sources = {{temp_.path() + "/no-such-data"}};
    controller_->send(broken);
    const auto end = wait_end();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->ranks[0].exit_code, kRankBadFiles);
    EXPECT_THAT(end->ranks[0].error, HasSubstr("no-such-data"));
}

TEST_F(WorkerProcess, EndsARunThatDivergesAsBadInput) {
    start_and_greet();
    LaunchAttempt steep = launch(1, 20);
    steep.spec.stages[0].learning_rate = 1e300;  // one update makes weights infinite
    steep.spec.optimizer.max_skipped = 2;
    controller_->send(steep);
    const auto end = wait_end();
    ASSERT_TRUE(end.has_value());
    // The other rank may lose its peer before it finds the same fault.
    const auto said =
        std::find_if(end->ranks.begin(), end->ranks.end(),
                     [](const RankStatus& rank) { return rank.exit_code == kRankBadInput; });
    ASSERT_NE(said, end->ranks.end()) << end->ranks[0].error;
    EXPECT_THAT(said->error, HasSubstr("are not finite"));
}

TEST_F(WorkerProcess, StopsARunGracefullyAtACheckpoint) {
    start_and_greet();
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value()) << worker_log();
    controller_->send(StopAttempt{.epoch = {1}});
    const auto end = wait_end();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->ranks[0].exit_code, kRankStopped) << end->ranks[0].error;
    EXPECT_EQ(end->ranks[1].exit_code, kRankStopped) << end->ranks[1].error;
    EXPECT_GT(end->checkpoint_step, 0);
}

TEST_F(WorkerProcess, TellsALostPeerFromARankThatFailed) {
    start_and_greet();
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value()) << worker_log();
    ::kill(rank_pid(1), SIGKILL);
    const auto end = wait_end();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->ranks[0].exit_code, kRankLostPeer) << end->ranks[0].error;
    EXPECT_EQ(end->ranks[1].exit_signal, SIGKILL);
    EXPECT_LT(end->ranks[1].exit_order_mono_nanos, end->ranks[0].exit_order_mono_nanos);
}

TEST_F(WorkerProcess, KilledAndRestartedTakesItsRanksUpAgain) {
    start_and_greet();
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value()) << worker_log();
    const pid_t rank = rank_pid(0);
    end_worker(SIGKILL);
    const Hello hello = start_and_greet();
    EXPECT_EQ(hello.cluster, ClusterId{"c1"});
    EXPECT_EQ(hello.highest_epoch, Epoch{1});
    ASSERT_EQ(hello.attempts.size(), 1u);
    EXPECT_TRUE(hello.attempts[0].processes_left);
    EXPECT_TRUE(hello.attempts[0].ranks[0].running);
    EXPECT_EQ(rank_pid(0), rank);
    controller_->send(launch(1, kForever));  // idempotent
    const std::size_t steps = controller_->steps(0).size();
    EXPECT_TRUE(eventually([&] { return controller_->steps(0).size() > steps + 2; }));
    const auto reports = controller_->steps(0);
    for (std::size_t i = 1; i < reports.size(); ++i) {
        ASSERT_EQ(reports[i].step, reports[i - 1].step + 1);
    }
    EXPECT_THAT(metrics(), HasSubstr("ringmaster_train_loss{run=\"abc123\"}"));
    controller_->send(StopAttempt{.epoch = {1}, .mode = StopMode::now});
    EXPECT_TRUE(wait_end().has_value());
}

TEST_F(WorkerProcess, LeavesItsRanksRunningWhenToldToKeepThem) {
    start_and_greet({"--orphan", "keep"});
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value());
    EXPECT_EQ(end_worker(SIGTERM), 0);
    EXPECT_TRUE(is_live(dir(1).live_lock()));
    EXPECT_EQ(::kill(rank_pid(1), 0), 0);
}

TEST_F(WorkerProcess, StopsItsRanksBeforeItEndsWhenTheyMayNotBeOrphans) {
    start_and_greet({"--orphan", "stop"});
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value());
    EXPECT_EQ(end_worker(SIGTERM), 0);
    EXPECT_FALSE(is_live(dir(1).live_lock()));
    const auto end = wait_end();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->ranks[0].exit_code, kRankStopped);
}

TEST_F(WorkerProcess, LeavesNoOrphansEvenWhenKilled) {
    start_and_greet({"--orphan", "stop", "--orphan-after", "0.5"});
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value());
    end_worker(SIGKILL);
    EXPECT_TRUE(eventually([&] { return !is_live(dir(1).live_lock()); }));
    EXPECT_EQ(parse_exit_file(*read_text_file(dir(1).exit(0)))->code, kRankStopped);
}

TEST_F(WorkerProcess, OutlivesItsController) {
    start_and_greet();
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value());
    const std::string address = controller_->address();
    controller_.reset();
    const pid_t rank = rank_pid(0);
    controller_.emplace(address);
    const auto hello = controller_->wait_hello();
    ASSERT_TRUE(hello.has_value()) << worker_log();
    ASSERT_EQ(hello->attempts.size(), 1u);
    EXPECT_TRUE(hello->attempts[0].ranks[0].running);
    EXPECT_EQ(rank_pid(0), rank);
    EXPECT_TRUE(eventually([&] { return !controller_->steps(0).empty(); }));
}

TEST_F(WorkerProcess, AnswersPingsWhileNobodyTakesItsLogs) {
    controller_->set_telemetry(FakeController::Telemetry::leave_unread);
    start_and_greet();
    controller_->send(launch(1, kForever));
    ASSERT_TRUE(wait_training().has_value());
    const std::string flood(32 << 20, 'x');
    std::ofstream(dir(1).log(0), std::ios::app) << flood;
    for (std::uint64_t nonce = 1; nonce <= 10; ++nonce) {
        const auto start = std::chrono::steady_clock::now();
        ASSERT_TRUE(controller_->ping(nonce));
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    controller_->set_telemetry(FakeController::Telemetry::acknowledge);
    EXPECT_TRUE(eventually([&] { return controller_->log(0).size() > flood.size(); },
                           std::chrono::seconds(180)))
        << "a busy machine takes long for 32 MiB";
}

TEST_F(WorkerProcess, RefusesAnOlderEpochAlsoAfterARestart) {
    start_and_greet();
    controller_->send(launch(3, 1));
    ASSERT_TRUE(wait_end().has_value());
    controller_->send(ForgetAttempt{{3}});
    ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(dir(3).path()); }));
    end_worker(SIGKILL);
    EXPECT_EQ(start_and_greet().highest_epoch, Epoch{3});
    controller_->send(launch(2, 1));
    const auto refused = controller_->wait_refusal();
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->epoch, Epoch{2});
}

TEST_F(WorkerProcess, DoesNotObeyAControllerOfAnotherCluster) {
    start_and_greet();
    ASSERT_TRUE(controller_->ping(1));
    const std::string address = controller_->address();
    controller_.reset();
    controller_.emplace(address, ClusterId{"another"});
    ASSERT_TRUE(controller_->wait_hello().has_value());
    EXPECT_TRUE(
        eventually([&] { return worker_log().find("session_refused") != std::string::npos; }));
    EXPECT_THAT(worker_log(), HasSubstr("cluster another"));
}

TEST_F(WorkerProcess, SaysWhatIsWrongWithItsCommandLine) {
    for (const auto& [arguments, words] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--devices", "cuda:x"}, "numbers such as cuda:0,2"},
             {{"--data-address", "8.8.8.8"}, "public"},
             {{"--controller", "10.1.2.3:7070"}, "10.1.2.3"},
             {{"--slots-on-machine", "1"}, "own 2 slots"},
             {{"--no-such-option"}, "--no-such-option"}}) {
        std::vector<std::string> argv = {worker_path(), "--state", state_};
        if (arguments[0] != "--controller") {
            argv.insert(argv.end(), {"--controller", controller_->address()});
        }
        if (arguments[0] != "--devices") argv.insert(argv.end(), {"--devices", "cpu:2"});
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        std::filesystem::remove(log_);
        pid_ = *spawn({.argv = argv, .output = log_});
        EXPECT_EQ(end_worker(0), 2);
        EXPECT_THAT(worker_log(), HasSubstr(words));
    }
}

TEST_F(WorkerProcess, SaysWhyItCannotOfferGpus) {
    pid_ = *spawn({.argv = {worker_path(), "--state", state_, "--controller",
                            controller_->address(), "--devices", "cuda:all"},
                   .output = log_});
    EXPECT_EQ(end_worker(0), 1);
    EXPECT_THAT(worker_log(), HasSubstr("GPUs cannot be offered: "));
    EXPECT_THAT(worker_log(), HasSubstr("cpu:N offers CPU slots"));
}

TEST_F(WorkerProcess, NamesAnAddressOrADirectoryThatIsTaken) {
    const Hello hello = start_and_greet();
    const std::string taken = hello.inventory.http_address;
    const pid_t first = pid_;
    const std::vector<std::string> second = {
        worker_path(), "--state", temp_.path() + "/other", "--controller", controller_->address(),
        "--http",      taken,     "--peak-cache",          peak_cache()};
    const std::string second_log = temp_.path() + "/second.log";
    pid_ = *spawn({.argv = second, .output = second_log});
    EXPECT_EQ(end_worker(0), 1);
    EXPECT_THAT(*read_text_file(second_log), HasSubstr(taken));
    start_worker();
    EXPECT_EQ(end_worker(0), 1);
    EXPECT_THAT(worker_log(), HasSubstr(format("{}", first)));
    pid_ = first;
}

}  // namespace
}  // namespace rm
