#include "worker/shim/shim.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/worker/support.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"
#include "worker/dir/unix_socket.h"
#include "worker/shim/control_server.h"
#include "worker/shim/rank_processes.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

// A real shim process with ranks that behave as told.
class ShimProcess : public ::testing::Test {
protected:
    ~ShimProcess() override {
        if (pid_ != 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        EXPECT_TRUE(eventually([&] { return !is_live(dir_.live_lock()); })) << "processes are left";
    }

    void start(const std::string& behaviour, OrphanPolicy orphan = {}) {
        start(helper_rank(behaviour), orphan);
    }
    void start(std::vector<std::string> rank_command, OrphanPolicy orphan = {}) {
        const AttemptFile attempt{.epoch = {3},
                                  .job = {"job1"},
                                  .ranks = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}},
                                  .num_ranks = 2,
                                  .rank_command = std::move(rank_command),
                                  .orphan = orphan};
        ASSERT_TRUE(replace_text_file(dir_.attempt(), to_json(attempt)));
        Result<LiveLock> lock = LiveLock::take(dir_.live_lock());
        ASSERT_TRUE(lock.ok());
        SpawnRequest request{.argv = helper_shim(),
                             .output = dir_.shim_log(),
                             .leads = Leads::session,
                             .live_lock = lock->fd()};
        request.argv.push_back(dir_.path());
        const Result<pid_t> pid = spawn(request);
        ASSERT_TRUE(pid.ok()) << pid.error().message;
        pid_ = *pid;
    }
    // Both ranks have begun to run.
    void wait_for_ranks() {
        ASSERT_TRUE(eventually(
            [&] { return size_of_file(dir_.log(0)) > 0 && size_of_file(dir_.log(1)) > 0; }));
    }
    LineConnection attach() {
        EXPECT_TRUE(eventually([&] { return connect_in(dir_.path(), kShimSocket).ok(); }));
        LineConnection connection(std::move(*connect_in(dir_.path(), kShimSocket)));
        EXPECT_EQ(ask(connection, R"({"command":"attach"})"), R"({"ok":true})");
        return connection;
    }
    static std::string ask(LineConnection& connection, const std::string& command) {
        EXPECT_TRUE(connection.write_line(command, Seconds{5}).ok());
        const auto answer = connection.wait_line(Seconds{20});
        return answer ? *answer : answer.error().message;
    }
    int wait_for_end() {
        int status = -1;
        EXPECT_TRUE(eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }));
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    ExitFile exit_of(int rank) {
        const auto text = read_text_file(dir_.exit(rank));
        EXPECT_TRUE(text.ok()) << text.error().message;
        return text ? *parse_exit_file(*text) : ExitFile{};
    }
    ShimFile shim_file() { return *parse_shim_file(*read_text_file(dir_.shim())); }

    const TempDir temp_;
    const AttemptDir dir_{temp_.path()};
    pid_t pid_ = 0;
};

TEST_F(ShimProcess, RecordsTheExitCodeOfEachRank) {
    start("exit-6");
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, 6);
    EXPECT_EQ(exit_of(1).code, 7);
    EXPECT_EQ(exit_of(0).signal, 0);
    EXPECT_GT(exit_of(1).mono_nanos, 0);
}

TEST_F(ShimProcess, HasNoWordsForARankThatFinished) {
    start("child");
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, 0);
    EXPECT_EQ(exit_of(0).words, "");
}

TEST_F(ShimProcess, QuotesARanksOwnLastWords) {
    start("words");
    wait_for_end();
    EXPECT_EQ(exit_of(0).words, "no data in /nowhere");
}

TEST_F(ShimProcess, QuotesTheEndOfTheLogOfARankThatSaidNothing) {
    start("exit-6");
    wait_for_end();
    EXPECT_EQ(exit_of(1).words, "rank 1: exit-6");
}

TEST_F(ShimProcess, NamesTheSignalThatEndedARank) {
    start("abort");
    wait_for_end();
    EXPECT_EQ(exit_of(0).signal, SIGABRT);
    EXPECT_EQ(exit_of(0).code, kRankFailed) << "the shim did not send it";
    EXPECT_THAT(exit_of(0).words, HasSubstr("SIGABRT"));
}

TEST_F(ShimProcess, DoesNotQuoteTheLogOfARankThatWasKilled) {
    start("run");
    wait_for_ranks();
    ASSERT_TRUE(eventually([&] { return shim_file().ranks.size() == 2; }));
    const pid_t rank = shim_file().ranks[0].process.pid;
    ::kill(rank, SIGKILL);
    ASSERT_TRUE(eventually([&] { return size_of_file(dir_.exit(0)) > 0; }));
    EXPECT_EQ(exit_of(0).words, "ended by signal 9 (SIGKILL)");
    LineConnection daemon = attach();
    ask(daemon, to_json(StopCommand{StopMode::now, {}}));
    wait_for_end();
}

TEST_F(ShimProcess, ReportsARankThatCannotBeStarted) {
    start(std::vector<std::string>{"/no/such/program"});
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, 127);
    EXPECT_THAT(exit_of(0).words, HasSubstr("/no/such/program"));
}

TEST_F(ShimProcess, SaysWhichProcessesItStarted) {
    start("run");
    wait_for_ranks();
    LineConnection daemon = attach();
    ASSERT_TRUE(eventually([&] { return shim_file().ranks.size() == 2; }));
    const ShimFile file = shim_file();
    EXPECT_EQ(file.epoch, Epoch{3});
    EXPECT_EQ(file.job, JobId{"job1"});
    EXPECT_EQ(file.shim.pid, pid_);
    EXPECT_EQ(file.boot_id, boot_id());
    EXPECT_TRUE(is_running(file.shim));
    EXPECT_TRUE(is_running(file.ranks[0].process));
    EXPECT_TRUE(is_live(dir_.live_lock()));
}

TEST_F(ShimProcess, StopsItsRanksGracefully) {
    start("run");
    wait_for_ranks();
    LineConnection daemon = attach();
    EXPECT_EQ(ask(daemon, to_json(StopCommand{StopMode::graceful, Seconds{30}})), R"({"ok":true})");
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, kRankStopped);
    EXPECT_EQ(exit_of(1).code, kRankStopped);
    EXPECT_EQ(exit_of(0).words, "");
}

TEST_F(ShimProcess, KillsRanksThatOutstayTheGrace) {
    start("stubborn");
    wait_for_ranks();
    LineConnection daemon = attach();
    ask(daemon, to_json(StopCommand{StopMode::graceful, Seconds{0.2}}));
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).signal, SIGKILL);
    EXPECT_THAT(exit_of(0).words, HasSubstr("did not stop within 200 ms"));
}

TEST_F(ShimProcess, KillsAtOnceWhenToldSo) {
    start("stubborn");
    wait_for_ranks();
    LineConnection daemon = attach();
    ask(daemon, to_json(StopCommand{StopMode::now, {}}));
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(1).signal, SIGKILL);
}

TEST_F(ShimProcess, AStopThatComesBeforeARankListensIsNotLost) {
    start("late");
    wait_for_ranks();
    LineConnection daemon = attach();
    ask(daemon, to_json(StopCommand{StopMode::graceful, Seconds{30}}));
    wait_for_end();
    EXPECT_EQ(exit_of(0).code, kRankStopped);
    EXPECT_EQ(exit_of(0).signal, 0);
}

TEST_F(ShimProcess, TreatsItsOwnSigtermAsAGracefulStop) {
    start("run");
    wait_for_ranks();
    ::kill(pid_, SIGTERM);
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, kRankStopped);
}

TEST_F(ShimProcess, AnnouncesExitsToTheDaemonAndLeavesTheRestAlone) {
    start("run");
    wait_for_ranks();
    LineConnection daemon = attach();
    ASSERT_TRUE(eventually([&] { return shim_file().ranks.size() == 2; }));
    ::kill(shim_file().ranks[1].process.pid, SIGKILL);
    EXPECT_EQ(*daemon.wait_line(Seconds{20}), R"({"event":"exit","rank":1})");
    EXPECT_EQ(exit_of(1).signal, SIGKILL);
    EXPECT_FALSE(read_text_file(dir_.exit(0)).ok());
    EXPECT_TRUE(is_running(shim_file().ranks[0].process));
}

TEST_F(ShimProcess, StopsItsRanksWhenOrphaned) {
    start("run", {.mode = OrphanMode::stop, .timeout = Seconds{0.3}, .grace = Seconds{30}});
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, kRankStopped);
}

TEST_F(ShimProcess, IsNoOrphanWhileADaemonIsAttached) {
    start("run", {.mode = OrphanMode::stop, .timeout = Seconds{1}, .grace = Seconds{30}});
    LineConnection daemon = attach();
    std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    EXPECT_EQ(ask(daemon, R"({"command":"ping"})"), R"({"ok":true})");
    daemon.close();
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_EQ(exit_of(0).code, kRankStopped);
}

TEST_F(ShimProcess, TakesItsRanksWithItWhenKilled) {
    start("stubborn");
    wait_for_ranks();
    ::kill(pid_, SIGKILL);
    EXPECT_EQ(wait_for_end(), -1);
    EXPECT_TRUE(eventually([&] { return !is_live(dir_.live_lock()); }));
}

TEST_F(ShimProcess, LeavesNoChildOfARankBehind) {
    start("child");
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_TRUE(eventually([&] { return !is_live(dir_.live_lock()); }));
}

TEST_F(ShimProcess, AnswersWhatIsNoCommandWithTheCommandsThereAre) {
    start("run");
    LineConnection daemon = attach();
    EXPECT_THAT(ask(daemon, R"({"command":"fly"})"), HasSubstr("none of attach, ping, stop"));
    EXPECT_THAT(ask(daemon, "no json"), HasSubstr("not a command"));
    EXPECT_THAT(ask(daemon, R"({"command":"stop","mode":"soon"})"), HasSubstr("'soon'"));
}

TEST(Shim, IsStartedByItsWorkerOnly) {
    const TempDir dir;
    const auto pid =
        spawn({.argv = {helper_path(), "shim", dir.path()}, .output = dir.path() + "/out"});
    ASSERT_TRUE(pid.ok());
    int status = 0;
    ::waitpid(*pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(*read_text_file(dir.path() + "/out"), HasSubstr("started by its worker"));
}

// A rank that sleeps, killed by a process other than its shim.
struct KilledRank : testing::Test {
    const TempDir temp;
    const AttemptDir dir{temp.path()};
    const SystemClock clock;

    ExitFile exit_of_killed(const std::string& kills_before, const std::string& kills_after) {
        temp.write("memory.events", kills_before);
        const AttemptFile attempt{.ranks = {{.rank = 0}},
                                  .rank_command = {"/bin/sh", "-c", "exec sleep 100"}};
        RankProcesses ranks(dir, attempt, OomKills({"/no/such/file", temp.file("memory.events")}));
        temp.write("lock", "");
        const UniqueFd lock(::open(temp.file("lock").c_str(), O_RDWR | O_CLOEXEC));
        ranks.start_all(lock.get(), clock);
        EXPECT_EQ(ranks.running().size(), 1u);
        temp.write("memory.events", kills_after);
        ::kill(ranks.running()[0].process.pid, SIGKILL);
        EXPECT_TRUE(eventually([&] { return !ranks.reap(clock, "").empty(); }));
        return *parse_exit_file(*read_text_file(dir.exit(0)));
    }
};

TEST_F(KilledRank, IsOutOfMemoryWhereTheKernelHasCountedOneMore) {
    const ExitFile exit = exit_of_killed("oom 7\noom_kill 3\n", "oom 8\noom_kill 4\n");
    EXPECT_EQ(exit.code, kRankOutOfMemory);
    EXPECT_EQ(exit.signal, SIGKILL);
    EXPECT_EQ(exit.words, "killed by the kernel, which had no memory left for it");
}

TEST_F(KilledRank, HasFailedWhereItHasNot) {
    const ExitFile exit = exit_of_killed("oom_kill 3\n", "oom_kill 3\n");
    EXPECT_EQ(exit.code, kRankFailed);
    EXPECT_THAT(exit.words, HasSubstr("SIGKILL"));
}

TEST(OomKills, AreCountedSomewhereOnThisMachine) {
    EXPECT_FALSE(OomKills().have_risen());
    EXPECT_EQ(OomKills::files_of_this_process().back(), "/proc/vmstat");
}

}  // namespace
}  // namespace rm
