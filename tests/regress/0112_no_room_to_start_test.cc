// A rank that had no room to start on the disk of its worker "ended together with its shim", and
// one that could not open its own files exited like any that fails: its job was tried on the same
// node again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>

#include "engine/train/rank_config.h"
#include "tests/support/small_disk.h"
#include "tests/worker/no_rendezvous.h"
#include "tests/worker/support.h"
#include "worker/agent/attempts.h"
#include "worker/dir/files.h"
#include "worker/dir/process.h"
#include "worker/dir/progress_file.h"

namespace rm {
namespace {

// Returns how an attempt of one rank that would finish ends on this disk; nothing: it was refused.
std::optional<AttemptStatus> end_on(const SmallDisk& disk) {
    const SystemClock clock;
    NoRendezvous rendezvous;
    const auto attempts = Attempts::open({.state_dir = disk.path(),
                                          .shim_command = helper_shim(),
                                          .terms = {.command = helper_rank("exit-0")},
                                          .inventory = {.devices = {{.index = 0}}}},
                                         rendezvous)
                              .value();
    if (!attempts->start({.epoch = {7}, .job = {"job1"}, .ranks = {{.rank = 0, .device = 0}}})) {
        return std::nullopt;
    }
    AttemptStatus status;
    EXPECT_TRUE(eventually([&] {
        status = attempts->look(clock.mono()).at(0).status;
        return !status.processes_left;
    }));
    return status;
}

void leave_room(const SmallDisk& disk, int pages) {
    constexpr std::uintmax_t kPage = 4096;
    disk.fill();
    const std::string filler = disk.file("filler");
    const auto room = static_cast<std::uintmax_t>(pages) * kPage;
    std::filesystem::resize_file(filler, std::filesystem::file_size(filler) - room);
}

TEST(Regress0112, HoweverLittleRoomThereIsTheRankIsNotAtFault) {
    constexpr int kEnough = 24;  // pages
    std::optional<AttemptStatus> end;
    for (int pages = 0; pages <= kEnough; ++pages) {
        const SmallDisk disk("1m");
        if (!disk.why_not().empty()) GTEST_SKIP() << "no private mount here: " << disk.why_not();
        leave_room(disk, pages);
        end = end_on(disk);
        if (!end || !end->launch_error.empty()) continue;
        const RankStatus& rank = end->ranks.at(0);
        EXPECT_TRUE(rank.exited);
        EXPECT_THAT(rank.exit_code, testing::AnyOf(kRankFinished, kRankNotStarted))
            << pages << " pages: " << rank.error;
    }
    ASSERT_TRUE(end && end->ranks.size() == 1) << "the last had room";
    EXPECT_EQ(end->ranks[0].exit_code, kRankFinished) << end->ranks[0].error;
}

TEST(Regress0112, ARankThatCannotOpenItsFilesNamesThemAndItsNode) {
    const TempDir temp;
    const AttemptDir dir(temp.path());
    const AttemptFile attempt{.epoch = {3}, .job = {"job1"}, .ranks = {{0, 0}}, .num_ranks = 1};
    const ShimFile shim{.epoch = {3}, .job = {"job1"}, .shim = process_id(::getpid()).value()};
    ASSERT_TRUE(replace_text_file(dir.attempt(), to_json(attempt)));
    ASSERT_TRUE(replace_text_file(dir.shim(), to_json(shim)));
    ASSERT_TRUE(replace_text_file(dir.config(0), to_json(RankConfig{})));
    ASSERT_TRUE(ProgressFile::create(dir.progress(0)));
    std::filesystem::create_directory(dir.reports(0));
    const auto pid =
        spawn({.argv = {helper_path(), "true-rank", dir.path(), "0"}, .output = dir.log(0)});
    ASSERT_TRUE(pid.ok()) << pid.error().message;
    int status = 0;
    ASSERT_EQ(::waitpid(*pid, &status, 0), *pid);
    ASSERT_TRUE(WIFEXITED(status)) << "it is no signal's";
    EXPECT_EQ(WEXITSTATUS(status), kRankNodeFault);
    EXPECT_THAT(tail_of_file(dir.last_words(0), 4096), testing::HasSubstr(dir.reports(0)));
}

}  // namespace
}  // namespace rm
