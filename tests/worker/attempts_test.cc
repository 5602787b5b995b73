#include "worker/agent/attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/worker/no_rendezvous.h"
#include "tests/worker/support.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

class AttemptsOnDisk : public ::testing::Test {
protected:
    ~AttemptsOnDisk() override {
        if (attempts_) attempts_->stop_all(StopMode::now, {});
        EXPECT_TRUE(eventually([&] {
            if (attempts_) attempts_->look(clock_.mono());  // tells a shim that only just listens
            return !is_live(dir(7).live_lock());
        })) << "processes left";
    }
    AttemptsOptions options(const std::string& behaviour) const {
        return {.state_dir = state_.path(),
                .shim_command = helper_shim(),
                .terms = {.command = helper_rank(behaviour)},
                .inventory = {.devices = {{.index = 0, .num_threads = 2}, {.index = 1}}}};
    }
    void open(AttemptsOptions options) {
        attempts_.reset();
        auto opened = Attempts::open(std::move(options), rendezvous_);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        attempts_ = std::move(*opened);
    }
    static LaunchAttempt launch() {
        return {.epoch = {7},
                .job = {"job1"},
                .ranks = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}}};
    }
    AttemptDir dir(std::int64_t epoch) const {
        return AttemptDir::of_epoch(state_.path() + "/attempts", {epoch});
    }
    AttemptStatus look() {
        const auto seen = attempts_->look(clock_.mono());
        EXPECT_EQ(seen.size(), 1u);
        return seen.empty() ? AttemptStatus{} : seen[0].status;
    }
    bool all_running() {
        const AttemptStatus status = look();
        return status.ranks.size() == 2 && status.ranks[0].running && status.ranks[1].running;
    }
    bool none_left() { return !look().processes_left; }

    const TempDir state_;
    const SystemClock clock_;
    NoRendezvous rendezvous_;
    std::unique_ptr<Attempts> attempts_;
};

TEST_F(AttemptsOnDisk, ReportAnAttemptFromStartToEnd) {
    open(options("run"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    EXPECT_TRUE(look().processes_left);
    EXPECT_TRUE(eventually([&] { return all_running(); }));
    AttemptStatus status = look();
    EXPECT_EQ(status.epoch, Epoch{7});
    EXPECT_EQ(status.job, JobId{"job1"});
    EXPECT_EQ(status.ranks[1].rank, 1);
    EXPECT_EQ(status.ranks[1].device, 1);
    EXPECT_TRUE(attempts_->any_left());

    attempts_->stop({.epoch = {7}});
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    status = look();
    EXPECT_TRUE(status.ranks[0].exited);
    EXPECT_FALSE(status.ranks[0].running);
    EXPECT_EQ(status.ranks[0].exit_code, kRankStopped);
    EXPECT_GT(status.ranks[0].exit_order_mono_nanos, 0);
    EXPECT_EQ(status.launch_error, "");
    EXPECT_FALSE(attempts_->any_left());
}

TEST_F(AttemptsOnDisk, ReportAFailedRankWithItsWords) {
    open(options("words"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    EXPECT_EQ(look().ranks[0].exit_code, 1);
    EXPECT_EQ(look().ranks[0].error, "no data in /nowhere");
}

TEST_F(AttemptsOnDisk, StopAShimThatIsOnlyJustStarting) {
    open(options("run"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    attempts_->stop({.epoch = {7}, .mode = StopMode::now});
    EXPECT_TRUE(eventually([&] { return none_left(); }));
}

TEST_F(AttemptsOnDisk, ReportAShimThatCannotRun) {
    AttemptsOptions broken = options("run");
    broken.shim_command = {"/no/such/program"};
    open(broken);
    EXPECT_THAT(attempts_->start(launch()).error().message, HasSubstr("/no/such/program"));
    EXPECT_TRUE(attempts_->look(clock_.mono()).empty());
    EXPECT_FALSE(std::filesystem::exists(dir(7).path()));
}

TEST_F(AttemptsOnDisk, ReportAShimThatFailsAtOnce) {
    AttemptsOptions broken = options("run");
    broken.shim_command = {helper_path(), "no-such-command"};
    open(broken);
    ASSERT_TRUE(attempts_->start(launch()).ok());
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    EXPECT_THAT(look().launch_error, HasSubstr("before it started a rank"));
    EXPECT_TRUE(look().ranks.empty());
}

TEST_F(AttemptsOnDisk, RefuseASecondStartWhileProcessesAreLeft) {
    open(options("run"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    EXPECT_EQ(attempts_->start(launch()).error().code, ErrorCode::failed_precondition);
}

TEST_F(AttemptsOnDisk, ReportRanksThatEndedWithTheirKilledShim) {
    open(options("stubborn"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    ASSERT_TRUE(eventually([&] { return all_running(); }));
    ::kill(parse_shim_file(*read_text_file(dir(7).shim()))->shim.pid, SIGKILL);
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    const RankStatus rank = look().ranks[0];
    EXPECT_TRUE(rank.exited);
    EXPECT_NE(rank.exit_code, kRankFinished);
    EXPECT_THAT(rank.error, HasSubstr("together with its shim"));
}

TEST_F(AttemptsOnDisk, AreTakenUpAgainAfterTheDaemonWasKilled) {
    const auto daemon = spawn({.argv = {helper_path(), "daemon", state_.path(), "run"},
                               .output = state_.path() + "/daemon.log"});
    ASSERT_TRUE(daemon.ok());
    ASSERT_TRUE(eventually([&] {
        const auto text = read_text_file(dir(7).shim());
        return text && parse_shim_file(*text)->ranks.size() == 2;
    }));
    ::kill(*daemon, SIGKILL);
    ::waitpid(*daemon, nullptr, 0);
    const ShimFile before = *parse_shim_file(*read_text_file(dir(7).shim()));

    open(options("run"));
    EXPECT_TRUE(all_running());
    EXPECT_EQ(attempts_->launches(), std::vector{launch()});
    EXPECT_TRUE(is_running(before.shim));
    EXPECT_TRUE(is_running(before.ranks[0].process));
    attempts_->stop({.epoch = {7}});
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    EXPECT_EQ(look().ranks[1].exit_code, kRankStopped);
}

TEST_F(AttemptsOnDisk, ThatEndedWhileNoDaemonRanAreFoundWithTheirExits) {
    open(options("exit-0"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    attempts_.reset();
    ASSERT_TRUE(eventually([&] { return !is_live(dir(7).live_lock()); }));
    open(options("exit-0"));
    EXPECT_EQ(look().ranks[0].exit_code, 0);
    EXPECT_EQ(look().ranks[1].exit_code, 1);
}

TEST_F(AttemptsOnDisk, ThatNeverGotTheirFilesAreCleared) {
    std::filesystem::create_directories(dir(9).path());
    open(options("run"));
    EXPECT_TRUE(attempts_->look(clock_.mono()).empty());
    EXPECT_FALSE(std::filesystem::exists(dir(9).path()));
}

TEST_F(AttemptsOnDisk, GoWhenForgottenAndTheirTelemetryIsHandedOver) {
    open(options("exit-0"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    attempts_->forget({7}, clock_.mono());
    EXPECT_FALSE(attempts_->look(clock_.mono()).empty());
    while (const auto piece = attempts_->next_piece()) {
        ASSERT_TRUE(std::holds_alternative<LogChunk>(piece->content));
        attempts_->acknowledge(piece->epoch, piece->rank, 0, piece->end_offset);
    }
    EXPECT_TRUE(eventually([&] { return attempts_->look(clock_.mono()).empty(); }));
    EXPECT_FALSE(std::filesystem::exists(dir(7).path()));
}

TEST_F(AttemptsOnDisk, GoLaterWhenNobodyTakesTheirTelemetry) {
    open(options("exit-0"));
    ASSERT_TRUE(attempts_->start(launch()).ok());
    ASSERT_TRUE(eventually([&] { return none_left(); }));
    const MonoTime now = clock_.mono();
    attempts_->forget({7}, now);
    const Seconds late = Attempts::kKeepForgotten + Seconds{1};
    const MonoTime later{now.nanos + static_cast<std::int64_t>(late.value * 1e9)};
    EXPECT_TRUE(eventually([&] { return attempts_->look(later).empty(); }));
}

}  // namespace
}  // namespace rm
