#include "worker/agent/attempt_view.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/comm/communicator.h"
#include "tests/worker/support.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"

namespace rm {
namespace {

class ViewOfADirectory : public ::testing::Test {
protected:
    ViewOfADirectory() : view_(dir_, attempt_) {
        const ShimFile shim{.epoch = {4},
                            .ranks = {{.rank = 2, .process = *process_id(::getpid())}}};
        RM_CHECK(replace_text_file(dir_.shim(), to_json(shim)).ok(), "no shim file");
    }
    void report(const ReportLine& line) {
        std::ofstream(dir_.reports(2), std::ios::app) << to_json(line) << '\n';
    }

    const TempDir temp_;
    const AttemptDir dir_{temp_.path()};
    const AttemptFile attempt_{.epoch = {4}, .job = {"j"}, .ranks = {{.rank = 2, .device = 1}}};
    const SystemClock clock_;
    AttemptView view_;
    Result<LiveLock> lock_ = LiveLock::take(dir_.live_lock());
};

TEST_F(ViewOfADirectory, ReadsProgressFromTheMappedPage) {
    RankStatus rank = view_.look(clock_.mono()).status.ranks.at(0);
    EXPECT_TRUE(rank.running);
    EXPECT_FALSE(rank.training);
    ASSERT_TRUE(ProgressFile::create(dir_.progress(2)).ok());
    const Result<ProgressFile> progress = ProgressFile::map(dir_.progress(2));
    EXPECT_FALSE(view_.look(clock_.mono()).status.ranks.at(0).training);
    progress->page().version = ProgressPage::kVersion;
    progress->page().step = 17;
    progress->page().phase = Phase::backward;
    progress->page().collectives.last = 1;
    progress->page().collectives.entered = 5;
    progress->page().collectives.left = 4;
    progress->page().collectives.waits_for = 1 + 3;
    rank = view_.look(clock_.mono()).status.ranks.at(0);
    EXPECT_TRUE(rank.training);
    EXPECT_EQ(rank.step, 17);
    EXPECT_EQ(rank.phase, "backward");
    EXPECT_EQ(rank.last_collective, comm_name(1));
    EXPECT_EQ(rank.collectives_entered, 5);
    EXPECT_EQ(rank.collectives_left, 4);
    EXPECT_EQ(rank.waits_for, 3);
    EXPECT_EQ(rank.quiet, Seconds{}) << "no step has ended: nobody knows what is usual";
}

TEST_F(ViewOfADirectory, CountsQuietInTheStepsOfAStageOnceOneHasEnded) {
    ASSERT_TRUE(ProgressFile::create(dir_.progress(2)).ok());
    const Result<ProgressFile> progress = ProgressFile::map(dir_.progress(2));
    ProgressPage& page = progress->page();
    page.version = ProgressPage::kVersion;
    page.phase = Phase::forward;
    page.collectives.pulse.begin_step();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    page.collectives.pulse.end_step();
    const MonoTime later{page.collectives.pulse.beat_mono_nanos + 7'000'000'000};
    const RankStatus rank = view_.look(later).status.ranks.at(0);
    EXPECT_DOUBLE_EQ(rank.quiet.value, 7);
    EXPECT_GE(rank.longest_quiet, Seconds{0.02});
    EXPECT_LT(rank.longest_quiet, Seconds{7});
    page.phase = Phase::checkpoint;
    EXPECT_EQ(view_.look(later).status.ranks.at(0).quiet, Seconds{});
    page.phase = Phase::forward;
    page.collectives.pulse.forget();  // a new stage
    EXPECT_EQ(view_.look(later).status.ranks.at(0).quiet, Seconds{});
}

TEST_F(ViewOfADirectory, GivesEachReportOnceAndKeepsTheMilestones) {
    report({{1}, StepReport{.step = 1}});
    report({{2}, CheckpointReport{1, "/c/j/e4-s1", 0.1}});
    Observation seen = view_.look(clock_.mono());
    ASSERT_EQ(seen.reports.size(), 2u);
    EXPECT_EQ(seen.reports[0].rank, 2);
    EXPECT_EQ(std::get<StepReport>(seen.reports[0].line.report).step, 1);
    EXPECT_EQ(seen.status.checkpoint_step, 1);
    EXPECT_EQ(seen.status.checkpoint_path, "/c/j/e4-s1");
    report({{3}, StageDoneReport{0, 1}});
    seen = view_.look(clock_.mono());
    EXPECT_EQ(seen.reports.size(), 1u);
    EXPECT_EQ(seen.status.stages_done, 1);
    EXPECT_EQ(seen.status.checkpoint_step, 1);
    EXPECT_EQ(AttemptView(dir_, attempt_).look(clock_.mono()).reports.size(), 3u);
}

TEST_F(ViewOfADirectory, IsNotFooledByAnotherProcessWithTheSamePid) {
    ProcessId other = *process_id(::getpid());
    other.start_ticks += 1;
    const ShimFile shim{.epoch = {4}, .ranks = {{.rank = 2, .process = other}}};
    ASSERT_TRUE(replace_text_file(dir_.shim(), to_json(shim)));
    EXPECT_FALSE(view_.look(clock_.mono()).status.ranks.at(0).running);
}

TEST_F(ViewOfADirectory, KeepsARankThatExitedApartFromAnAttemptThatLeft) {
    ASSERT_TRUE(replace_text_file(dir_.exit(2), to_json(ExitFile{.code = 1, .words = "w"})));
    AttemptStatus status = view_.look(clock_.mono()).status;
    EXPECT_TRUE(status.ranks.at(0).exited);
    EXPECT_TRUE(status.processes_left);
    lock_ = make_error(ErrorCode::unknown, "released");
    status = view_.look(clock_.mono()).status;
    EXPECT_FALSE(status.processes_left);
    EXPECT_EQ(status.ranks.at(0).error, "w");
}

}  // namespace
}  // namespace rm
