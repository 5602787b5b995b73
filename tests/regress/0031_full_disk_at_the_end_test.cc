// A finished training was reported as failed ("it ended together with its shim, which recorded no
// exit") when the disk of the worker was full: there was no room for the exit files. Its last
// reports were lost, too.
#include <gtest/gtest.h>

#include "tests/support/small_disk.h"
#include "tests/worker/no_rendezvous.h"
#include "tests/worker/support.h"
#include "worker/agent/attempts.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"
#include "worker/rank/jsonl_observer.h"

namespace rm {
namespace {

AttemptsOptions options(const std::string& state, const std::string& behaviour) {
    return {.state_dir = state,
            .shim_command = helper_shim(),
            .terms = {.command = helper_rank(behaviour)},
            .inventory = {.devices = {{.index = 0}, {.index = 1}}}};
}

LaunchAttempt launch() {
    return {.epoch = {7},
            .job = {"job1"},
            .ranks = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}}};
}

TEST(Regress0031, AFullDiskDoesNotHideHowARankEnded) {
    const SmallDisk disk("8m");
    if (!disk.why_not().empty()) GTEST_SKIP() << "no private mount here: " << disk.why_not();
    const SystemClock clock;
    NoRendezvous rendezvous;
    const auto attempts = Attempts::open(options(disk.path(), "run"), rendezvous).value();
    ASSERT_TRUE(attempts->start(launch()));
    const AttemptDir dir = AttemptDir::of_epoch(disk.file("attempts"), {7});
    ASSERT_TRUE(eventually([&] {
        attempts->look(clock.mono());
        return size_of_file(dir.log(0)) > 0 && size_of_file(dir.log(1)) > 0;
    }));
    disk.fill();
    attempts->stop({.epoch = {7}});
    AttemptStatus status;
    ASSERT_TRUE(eventually([&] {
        status = attempts->look(clock.mono()).at(0).status;
        return !status.processes_left;
    }));
    for (const RankStatus& rank : status.ranks) {
        EXPECT_TRUE(rank.exited);
        EXPECT_EQ(rank.exit_code, kRankStopped) << rank.error;
        EXPECT_EQ(rank.error, "");
    }
}

TEST(Regress0031, ReportsWaitUntilTheDiskTakesThemAgain) {
    const SmallDisk disk("1m");
    if (!disk.why_not().empty()) GTEST_SKIP() << "no private mount here: " << disk.why_not();
    const std::string path = disk.file("reports");
    JsonlObserver observer = JsonlObserver::open(path).value();
    observer.on_started(0, 100);
    disk.fill();
    for (int step = 1; step <= 100; ++step)
        observer.on_step({.step = step});
    disk.empty();
    observer.on_note("there is room again");
    std::ifstream file(path);
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines)
        EXPECT_TRUE(parse_report_line(line)) << line;
    EXPECT_EQ(lines, 102);
}

TEST(Regress0031, AReadOnlyStateDirectoryDoesNotEndTheWorker) {
    const SmallDisk disk("8m");
    if (!disk.why_not().empty()) GTEST_SKIP() << "no private mount here: " << disk.why_not();
    const SystemClock clock;
    NoRendezvous rendezvous;
    const auto attempts = Attempts::open(options(disk.path(), "exit-0"), rendezvous).value();
    ASSERT_TRUE(attempts->start(launch()));
    ASSERT_TRUE(
        eventually([&] { return !attempts->look(clock.mono()).at(0).status.processes_left; }));
    ASSERT_TRUE(disk.make_read_only()) << std::strerror(errno);
    attempts->forget({7}, {clock.mono().nanos - 25 * 3600 * std::int64_t{1'000'000'000}});
    EXPECT_EQ(attempts->look(clock.mono()).size(), 1u) << "it cannot be removed";
    LaunchAttempt next = launch();
    next.epoch = {8};
    EXPECT_FALSE(attempts->start(next));
    ASSERT_TRUE(disk.make_writable());
    EXPECT_TRUE(eventually([&] { return attempts->look(clock.mono()).empty(); }));
}

}  // namespace
}  // namespace rm
