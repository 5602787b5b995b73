#include <gmock/gmock.h>

#include "controller/core/fields.h"
#include "controller/core/jobs/make_snapshot.h"
#include "controller/core/roots/job_files.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

// Decisions depend on kinds, codes and classes, not on the wording of messages.
namespace rm::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Rules once searched for some of these.
constexpr const char* kWords[] = {"quux", "no checkpoint in /ckpt is whole: e1-s5 skipped",
                                  "checkpoint.from /old: no checkpoint in /old is whole: damaged",
                                  "model.from and data.path; about its files",
                                  "waits behind 1000 jobs; fits after one of them"};

std::vector<ReasonKind> kinds_of(const Reasons& reasons) {
    std::vector<ReasonKind> kinds;
    for (const Reason& reason : reasons)
        kinds.push_back(reason.kind);
    return kinds;
}

struct Decisions {
    JobState job = JobState::pending;
    FailureClass failure = FailureClass::none;
    std::vector<DeviceId> excluded;
    WallTime retry_at;
    std::vector<ReasonKind> reasons;
    std::vector<DeviceId> next;  // of its next attempt
    std::set<NodeId> drained;
    bool operator==(const Decisions&) const = default;
};

// The decisions about a job whose rank 1 ends with `code`, with two more nodes free.
Decisions after_rank(int code, const std::string& words) {
    Pair world(retried_spec());
    world.run();
    world.hello("c", 1);
    world.hello("d", 1);
    world.fail(code, words);
    const Job& job = world.job(world.id);
    Decisions made{.job = job.state,
                   .failure = world.attempt(world.id).failure_class,
                   .excluded = job.excluded,
                   .retry_at = job.retry_at,
                   .reasons = kinds_of(job.blocking_reasons)};
    for (const auto& [id, node] : world.state.nodes) {
        if (!node.drained.empty()) made.drained.insert(id);
    }
    for (const PlanDecision& decision :
         plan_jobs(planning_snapshot(world.state, world.now + Seconds{10}))) {
        made.next = std::get<Plan>(decision.decision).placement;
    }
    return made;
}

TEST(Reworded, ARankIsTriedAgainOrNotByItsExitCode) {
    for (const RankExit& exit : kRankExits) {
        const Decisions plain = after_rank(exit.code, "words");
        for (const char* words : kWords)
            EXPECT_EQ(after_rank(exit.code, words), plain) << exit.code << ": " << words;
    }
    EXPECT_EQ(after_rank(kRankBadInput, "words").job, JobState::failed);
    EXPECT_EQ(after_rank(kRankBadFiles, "words").job, JobState::pending) << "there are c and d";
    EXPECT_EQ(after_rank(kRankNoCheckpoint, "words"), after_rank(kRankBadFiles, "words"));
    EXPECT_EQ(after_rank(kRankDeviceFault, "words").excluded, (std::vector<DeviceId>{{{"b"}, 0}}));
}

// The reasons for a job on two nodes with roots, one of which has trouble with its files.
Reasons reasons_with(const std::string& problem) {
    World world;
    for (const char* node : {"a", "b"}) {
        Hello hello = hello_of(node, 1);
        hello.roots = {{.name = "data", .path = "/data", .mount = "1:2", .writable = true}};
        world.apply(NodeHello{hello});
    }
    const JobId id = world.submit(small_spec(ring(2)));
    const CheckFiles check = files_needed(world.state, world.job(id)).check;
    for (const char* node : {"a", "b"}) {
        FilesChecked checked{.key = check.key};
        for (const FileWanted& file : check.files) {
            checked.files.push_back({.use = file.use,
                                     .path = file.path,
                                     .problem = node == std::string("b") ? problem : "",
                                     .root = "data",
                                     .index = is_written(file.use) ? "" : "index",
                                     .free = {1LL << 40}});
        }
        world.apply(NodeFilesChecked{{node}, checked});
    }
    // Answers that are awaited say nothing about problems: whether its root is shared is measured.
    world.state.nodes.at({"a"}).session.places["data"] = "here";
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    return std::get<Reasons>(decisions.at(0).decision);
}

TEST(Reworded, TroubleWithFilesIsAboutFiles) {
    for (const char* words : kWords) {
        const Reasons reasons = reasons_with(words);
        EXPECT_THAT(kinds_of(reasons), ElementsAre(ReasonKind::other, ReasonKind::files)) << words;
        EXPECT_NE(reasons.back().remedy, "") << words;
    }
}

TEST(Reworded, WhoWasToldThatItWaitsBehindOthersIsKnownByTheKind) {
    World world;
    Job job = world.job(world.submit(small_spec()));
    for (std::size_t i = 1; i <= kMaxPlanned; ++i) {
        job.id = {format("j{}", i)};
        job.number = static_cast<std::int64_t>(1000 + i);
        world.state.jobs[job.id] = job;
        world.state.live_jobs.insert(job.id);
        world.state.queued[job.id] = world.now;
    }
    Reasons& told = world.state.jobs.at(job.id).blocking_reasons;
    for (const char* words : kWords) {
        told = {{words, "", ReasonKind::behind}};
        EXPECT_THAT(planning_snapshot(world.state, world.now).behind, IsEmpty()) << words;
        told = {{words}};
        EXPECT_THAT(planning_snapshot(world.state, world.now).behind, ElementsAre(job.id));
    }
}

TEST(Reworded, ReasonsComeBackFromTheDatabase) {
    Reasons reasons;
    for (const char* words : kWords) {
        reasons.push_back({words, words, ReasonKind::files});
        reasons.push_back({words, "", ReasonKind::behind});
        reasons.push_back({words});
    }
    Reasons back;
    ASSERT_TRUE(decode(encode(reasons), back).ok());
    EXPECT_EQ(back, reasons);
    ASSERT_TRUE(decode(encode(Reasons{{"two\nlines", "one"}}), back).ok());
    EXPECT_EQ(back, (Reasons{{"two lines", "one"}}));
}

TEST(Reworded, ReasonsThatAnOlderVersionWroteAreReadAsTheyWereShown) {
    const Value written = std::string("needs 4, 2 are free; add 2\nwaiting to be scheduled");
    Reasons reasons;
    ASSERT_TRUE(decode(written, reasons).ok());
    EXPECT_THAT(reasons, ElementsAre(Reason{"needs 4, 2 are free", "add 2"},
                                     Reason{"waiting to be scheduled"}));
}

}  // namespace
}  // namespace rm::test
