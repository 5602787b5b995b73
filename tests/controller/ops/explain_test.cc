#include "controller/ops/explain/explain.h"

#include <gmock/gmock.h>

#include <set>

#include "service/convert/convert.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

std::string text_of(const Findings& findings) {
    std::string text;
    for (const pb::Finding& f : findings) {
        text += format("{} {}: {} -> {}\n", pb::Finding::Kind_Name(f.kind()), f.subject(), f.text(),
                       f.remedy());
    }
    return text;
}

std::string explained(const World& world, const JobId& id, double later = 0) {
    const WallTime now = world.now + Seconds{later};
    return text_of(explain(world.state, world.job(id), {now, now}));
}

// Nodes a and b with one rank each, placed.
struct Pair : World {
    JobId id;
    Epoch epoch;
    Pair() {
        hello("a", 1);
        hello("b", 1);
        id = submit(small_spec());
        plan(id, {"a", "b"});
        epoch = epoch_of(id);
    }
    void report(const std::string& node, RankStatus rank, Left left = Left::yes) {
        status(node, status_of(epoch, id, {std::move(rank)}, left));
    }
    void run() {
        report("a", training(0));
        report("b", training(1));
    }
};

TEST(ExplainPending, CutsTheRemedyOffEachReason) {
    World world;
    const JobId id = world.submit(small_spec());
    world.apply(
        PlanReady{id, world.state.planning_version, Reasons{{"needs 4, 2 are free", "add 2"}}});
    EXPECT_EQ(explained(world, id), "BLOCKING devices: needs 4, 2 are free -> add 2\n");
}

TEST(ExplainPending, NamesNodesThatAreOfNoUseNow) {
    World world;
    world.hello("a", 2);
    world.hello("b", 1);
    world.apply(DrainNode{{"a"}, "a new disk"});
    world.apply(NodeSessionDown{{"b"}});
    const std::string text = explained(world, world.submit(small_spec()), 40);
    EXPECT_THAT(text,
                HasSubstr("BLOCKING node a: its 2 devices are unavailable: the node is drained "
                          "(a new disk) -> `ringmaster resume a`"));
    EXPECT_THAT(text,
                HasSubstr("BLOCKING node b: its 1 device is unavailable: its worker has had "
                          "no session for 40.0 s -> start its worker again, or `ringmaster drain b "
                          "--gone`"));
}

TEST(ExplainPending, SaysTheJobsPlaceInTheQueue) {
    World world;
    const JobId first = world.submit(small_spec());
    const JobId second = world.submit(small_spec());
    JobSpec urgent = small_spec();
    urgent.priority = 5;
    const JobId third = world.submit(urgent);
    EXPECT_THAT(explained(world, first), HasSubstr("INFO queue: 1 of 2 other pending jobs are "
                                                   "ahead in the queue (priority 0)"));
    EXPECT_THAT(explained(world, second), HasSubstr("2 of 2 other pending jobs"));
    EXPECT_THAT(explained(world, third), HasSubstr("0 of 2 other pending jobs are ahead in the "
                                                   "queue (priority 5) -> \n"));
}

TEST(ExplainPending, SaysWhenTheNextAttemptMayBeginAndWhatItAvoids) {
    World world;
    const JobId id = world.submit(retried_spec());
    Job job = world.job(id);
    job.retry_at = world.now + Seconds{20};
    job.excluded = {{{"n1"}, 3}};
    const std::string text = text_of(explain(world.state, job, {world.now, world.now}));
    EXPECT_THAT(text, HasSubstr("BLOCKING retry: further attempt 0 of 3 begins in 20.0 s"));
    EXPECT_THAT(text,
                HasSubstr("BLOCKING devices: n1:3: excluded for this job after failures there"));
}

TEST(ExplainPlan, HoldsTheStepAndTheCostAgainstTheRun) {
    Attempt attempt{.epoch = {3}, .started = {1'000'000'000}};
    const WallTime now = attempt.started + Seconds{100};
    EXPECT_TRUE(explain_plan(attempt, now).empty()) << "nothing was predicted";
    attempt.ranks.resize(2);
    attempt.predicted = {.step = {2}, .all = {200}, .correction = 1.08};
    EXPECT_EQ(text_of(explain_plan(attempt, now)),
              "INFO plan of attempt 3: a step was planned to take 2.0 s (the profile's x 1.080) -> "
              "\n");
    attempt.predicted.correction = 0;
    attempt.measured_step = {2.1};
    attempt.rates.price = {.per_device_hour = 36, .currency = "USD"};
    EXPECT_EQ(text_of(explain_plan(attempt, now)),
              "INFO plan of attempt 3: a step was planned to take 2.0 s and takes 2.1 s (+5.0%); "
              "all steps cost 4.00 USD by the plan, and 2.00 USD so far -> \n");
    attempt.measured_step = {2.5};
    EXPECT_THAT(text_of(explain_plan(attempt, now)), HasSubstr("-> measure the devices again"));
}

TEST(ExplainStarting, SaysWhoHasNotConfirmed) {
    Pair world;
    world.report("a", training(0));
    const std::string text = explained(world, world.id, 3);
    EXPECT_THAT(text, HasSubstr("is starting: 1 of 2 ranks launched, 1 at their first step, on 2 "
                                "nodes for 3.0 s"));
    EXPECT_THAT(text, HasSubstr("INFO node b: has not confirmed the launch of 1 rank for 3.0 s"));
    EXPECT_THAT(text, testing::Not(HasSubstr("node a:")));
}

TEST(ExplainRunning, SaysThatALostSessionHurtsNothing) {
    Pair world;
    world.run();
    EXPECT_THAT(explained(world, world.id), HasSubstr("all 2 ranks training, on 2 nodes"));
    world.apply(NodeSessionDown{{"b"}});
    EXPECT_THAT(explained(world, world.id, 40),
                HasSubstr("PROBLEM node b: has had no session for 40.0 s; training continues; "
                          "other workers report no problem with it"));
}

TEST(ExplainRunning, NamesBothEndsOfItsDegradedLinks) {
    Pair world;
    world.hello("c", 1);
    world.run();
    world.apply(LinkDrifted{{"a"}, {"b"}, {9.4}, {3.06}, true});
    world.apply(LinkDrifted{{"a"}, {"c"}, {9.4}, {1}, true});
    world.apply(LinkDrifted{{"b"}, {"a"}, {0.4}, {0.1}, true});
    const std::string text = explained(world, world.id, 90);
    const auto first = text.find(
        "PROBLEM link b to a: degraded for 1m30s: 100 Mbit/s, its "
        "baseline is 400 Mbit/s -> check both ends: `ringmaster links "
        "b a`");
    const auto second = text.find(
        "PROBLEM link a to b: degraded for 1m30s: 3.1 Gbit/s, its "
        "baseline is 9.4 Gbit/s");
    EXPECT_LT(first, second) << "the worst first\n" << text;
    EXPECT_NE(second, std::string::npos) << text;
    EXPECT_THAT(text, testing::Not(HasSubstr("link a to c"))) << "no rank of it is on c";
    world.apply(LinkDrifted{{"a"}, {"b"}, {9.4}, {9.1}, false});
    EXPECT_THAT(explained(world, world.id), testing::Not(HasSubstr("link a to b")));
}

TEST(ExplainRunning, CountsDegradedLinksBeyondTheWorst) {
    World world;
    std::vector<std::string> names = {"a", "b", "c"};
    for (const std::string& name : names)
        world.hello(name, 1);
    const JobId id = world.submit(small_spec());
    world.plan(id, names);
    for (const std::string& from : names) {
        for (const std::string& to : names) {
            if (from != to) world.apply(LinkDrifted{{from}, {to}, {10}, {1}, true});
        }
    }
    EXPECT_THAT(explained(world, id), HasSubstr("PROBLEM links: 2 more of its links are degraded"));
}

TEST(ExplainRunning, NamesQuietAndSuspendedRanks) {
    Pair world;
    world.run();
    RankStatus quiet = training(0);
    quiet.step = 7;
    quiet.quiet = {45};
    quiet.longest_quiet = {2};
    quiet.collectives_entered = 4;
    quiet.collectives_left = 3;
    quiet.last_collective = "ring send";
    quiet.waits_for = 1;
    RankStatus suspended = training(1);
    suspended.suspended = true;
    world.report("a", quiet);
    world.report("b", suspended);
    const std::string text = explained(world, world.id);
    EXPECT_THAT(text, HasSubstr("PROBLEM rank 0: on a:0: quiet for 45.0 s at step 7 (its longest "
                                "pause lately: 2.0 s); in ring send; waits for rank 1 -> look at "
                                "rank 1 first"));
    EXPECT_THAT(text, HasSubstr("PROBLEM rank 1: on b:0: suspended by a signal or a debugger"));
}

TEST(ExplainRunning, LeavesRanksAloneThatAreAsQuietAsUsual) {
    Pair world;
    world.run();
    RankStatus slow = training(0);
    slow.quiet = {45};
    slow.longest_quiet = {30};
    world.report("a", slow);
    EXPECT_THAT(explained(world, world.id), testing::Not(HasSubstr("PROBLEM")));
}

TEST(ExplainRunning, SaysThatItWasTakenOver) {
    Pair world;
    world.run();
    Job job = world.job(world.id);
    job.recovered = true;
    job.continues = {"old123"};
    job.spec.checkpoint.from = "/ckpt/old123";
    const std::string text = text_of(explain(world.state, job, {world.now, world.now}));
    EXPECT_THAT(text, HasSubstr("taken over from its workers after this controller was restored"));
    EXPECT_THAT(text, HasSubstr("continues job old123 from /ckpt/old123"));
}

TEST(ExplainEnded, GivesTheCauseOfEachAttempt) {
    Pair world;
    world.run();
    world.report("a", ended(0, kRankBadInput, "no data in /x", 1), Left::no);
    world.report("b", ended(1, kRankLostPeer, "lost rank 0", 2), Left::no);
    ASSERT_EQ(world.job(world.id).state, JobState::failed);
    const std::string text = explained(world, world.id);
    EXPECT_THAT(text, HasSubstr("PROBLEM job: failed after"));
    EXPECT_THAT(text, HasSubstr("correct what it names, then submit the job file again"));
    EXPECT_THAT(text, HasSubstr(format("PROBLEM attempt {}: failed after", world.epoch)));
    EXPECT_THAT(text, HasSubstr("rank 0: no data in /x"));
}

TEST(ExplainEnded, DoesNotAdviseWhatFailsAgain) {
    Pair world;
    world.run();
    AttemptStatus status = status_of(world.epoch, world.id, {training(0)}, Left::yes);
    status.checkpoint_step = 5;
    status.checkpoint_path = "/ckpt/e1-s5";
    world.status("a", status);
    world.report("a", ended(0, kRankBadInput, "the export is refused", 1), Left::no);
    world.report("b", ended(1, kRankLostPeer, "lost rank 0", 2), Left::no);
    ASSERT_EQ(world.job(world.id).state, JobState::failed);
    const std::string text = explained(world, world.id);
    EXPECT_THAT(text, testing::Not(HasSubstr("ringmaster continue"))) << "by the same job file";
    EXPECT_THAT(text, testing::ContainsRegex("submit the job file again with --from /ckpt\n"));
}

TEST(ExplainEnded, NamesASwitchOfMemoryThatTheJobFileKnows) {
    Pair world;
    world.run();
    Attempt& attempt = world.state.attempts.at(world.epoch);
    attempt.state = AttemptState::failed;
    attempt.failure_class = FailureClass::out_of_memory;
    world.state.jobs.at(world.id).spec.memory.device = Bytes{1 << 30};
    EXPECT_THAT(explained(world, world.id), HasSubstr("`memory: {offload: on}`"));
}

std::vector<std::string> remedies(const World& world, const JobId& id) {
    std::vector<std::string> list;
    for (const pb::Finding& f : explain(world.state, world.job(id), {world.now, world.now}))
        list.push_back(format("{}: {}", f.subject(), f.remedy()));
    return list;
}

// Rules once searched for some of these.
constexpr const char* kReworded[] = {"quux; quux", "no checkpoint in /ckpt is whole: e1-s5 skipped",
                                     "checkpoint.from /old: no checkpoint in /old is whole: bad",
                                     "data.path: no roots and others do"};

TEST(ExplainEnded, AdvisesByTheExitCodeWhateverTheWords) {
    for (const RankExit& exit : kRankExits) {
        std::set<std::vector<std::string>> seen;
        for (const char* words : kReworded) {
            Pair world;
            world.run();
            world.report("b", ended(1, exit.code, words, 1), Left::no);
            world.report("a", ended(0, kRankLostPeer, words, 2), Left::no);
            seen.insert(remedies(world, world.id));
        }
        EXPECT_EQ(seen.size(), 1u) << exit.code;
    }
}

TEST(ExplainPending, NamesWhatAReasonIsAboutByItsKind) {
    for (const char* words : kReworded) {
        World world;
        const JobId id = world.submit(small_spec());
        world.apply(PlanReady{id, world.state.planning_version,
                              Reasons{{words, "r1", ReasonKind::files}, {words, "r2"}}});
        EXPECT_EQ(remedies(world, id), (std::vector<std::string>{"files: r1", "devices: r2"}));
    }
}

TEST(ExplainEnded, FillsInEveryRemedyOfTheTable) {
    for (const FailureRow& row : kFailures) {
        Pair world;
        world.run();
        world.report("b", ended(1, kRankFailed, "it failed", 1), Left::no);
        world.report("a", ended(0, kRankLostPeer, "lost rank 1", 2), Left::no);
        Attempt& attempt = world.state.attempts.at(world.epoch);
        ASSERT_EQ(attempt.cause_rank, 1);
        attempt.failure_class = row.kind;
        for (const pb::Finding& f :
             explain(world.state, world.job(world.id), {world.now, world.now})) {
            if (f.subject() == "job") {
                EXPECT_NE(f.remedy(), "") << row.name;
            }
            if (f.subject() == "attempt 1") {
                EXPECT_EQ(f.remedy().empty(), row.remedies.attempt.empty()) << row.name;
            }
        }
    }
}

TEST(ExplainRunning, DoesNotSpeakForWorkersThatSayNothing) {
    Pair world;
    world.run();
    world.apply(NodeSessionDown{{"a"}});
    world.apply(NodeSessionDown{{"b"}});
    const std::string text = explained(world, world.id);
    EXPECT_THAT(text, HasSubstr("no worker of the attempt reports"));
    EXPECT_THAT(text, testing::Not(HasSubstr("nothing is wrong")));
}

pb::StepReport step_of(double seconds) {
    pb::StepReport step;
    step.set_step(9);
    step.set_seconds(seconds);
    step.set_finite(true);
    return step;
}

TEST(ExplainStep, NamesTheAxisThatComputeWaitsFor) {
    pb::StepReport step = step_of(2);
    (*step.mutable_phase_seconds())["ring_exposed"] = 0.9;
    (*step.mutable_phase_seconds())["tensor_exposed"] = 0.1;
    const std::string text = text_of(explain_step(step, {}, StepsAre::reported));
    EXPECT_THAT(text, HasSubstr("PROBLEM ring: compute of rank 0 waited 45.0% of step 9 (900 ms of "
                                "2.0 s) for keys and values of the next rank"));
    EXPECT_THAT(text, testing::Not(HasSubstr("tensor")));
}

TEST(ExplainStep, NoticesASkippedStepAndALateOne) {
    pb::StepReport step = step_of(10);
    const WallTime now{1'000'000'000};
    *step.mutable_time() = to_proto(now);
    EXPECT_EQ(text_of(explain_step(step, now + Seconds{45}, StepsAre::reported)), "")
        << "five steps' time are fine";
    EXPECT_THAT(text_of(explain_step(step, now + Seconds{60}, StepsAre::reported)),
                HasSubstr("the next is late"));
    step.set_num_steps(9);
    EXPECT_EQ(text_of(explain_step(step, now + Seconds{60}, StepsAre::reported)), "")
        << "there is no next one";
    step.set_finite(false);
    EXPECT_THAT(text_of(explain_step(step, now, StepsAre::reported)),
                HasSubstr("PROBLEM loss: step 9 was skipped"));
    EXPECT_TRUE(explain_step({}, now, StepsAre::reported).empty()) << "before the first step";
    EXPECT_TRUE(explain_divergence({}).empty());
}

TEST(ExplainStep, IsNotLateWhereNobodyCanReportIt) {
    Pair world;
    world.run();
    EXPECT_EQ(steps_are(world.state, world.job(world.id)), StepsAre::reported);
    world.apply(NodeSessionDown{{"b"}});
    EXPECT_EQ(steps_are(world.state, world.job(world.id)), StepsAre::reported) << "rank 0 is on a";
    world.apply(NodeSessionDown{{"a"}});
    ASSERT_EQ(steps_are(world.state, world.job(world.id)), StepsAre::cut_off);
    pb::StepReport step = step_of(1);
    *step.mutable_time() = to_proto(world.now);
    const WallTime later = world.now + Seconds{40};
    EXPECT_EQ(text_of(explain_step(step, later, StepsAre::cut_off)), "");
    EXPECT_THAT(text_of(explain_step(step, later, StepsAre::reported)),
                HasSubstr("the next is late"));
}

TEST(ExplainStep, SaysThatARunHasDiverged) {
    pb::StepReport step;
    step.set_step(40);
    step.set_loss(345.2);
    step.set_diverged_above(6.66);
    EXPECT_EQ(text_of(explain_divergence(step)),
              "PROBLEM loss: the run has diverged: the loss of step 40 is 345.2000, and a run that "
              "learns stays below 6.66 -> a lower learning rate or a longer warm-up\n");
    step.set_loss(5);
    EXPECT_TRUE(explain_divergence(step).empty());
}

// Steps that work for `work` seconds and wait for the ring for the rest of `step`.
RankPace pace(int rank, double work, double step, std::size_t count = 8) {
    StepReport report;
    report.seconds = step;
    report.phase_seconds = {{"gemm", work}, {"ring_exposed", step - work}};
    return {rank, {{format("n{}", rank)}, 0}, std::vector<StepReport>(count, report)};
}

TEST(ExplainPace, SaysWhereTheTimeGoes) {
    EXPECT_EQ(text_of(explain_pace({pace(0, 0.75, 1)})),
              "INFO pace: a step takes 1.0 s (median of the last 8 steps), gemm 75%, waits for "
              "ring 25% -> \n");
    EXPECT_TRUE(explain_pace({pace(0, 0.75, 1, 2)}).empty()) << "two steps say nothing";
}

TEST(ExplainPace, NamesTheRankThatTheOthersWaitFor) {
    const std::string text =
        text_of(explain_pace({pace(0, 0.5, 1), pace(1, 0.9, 1), pace(2, 0.5, 1)}));
    EXPECT_THAT(text, HasSubstr("PROBLEM rank 1: on n1:0: works 900 ms of each step, the other "
                                "ranks 500 ms (medians of the last 8 steps)"));
    EXPECT_THAT(text, HasSubstr("`ringmaster drain n1`"));
    const std::string even =
        text_of(explain_pace({pace(0, 0.5, 1), pace(1, 0.55, 1), pace(2, 0.5, 1)}));
    EXPECT_EQ(even.find("PROBLEM"), std::string::npos) << even;
    const std::string tiny =
        text_of(explain_pace({pace(0, 5e-4, 1), pace(1, 9e-4, 1), pace(2, 5e-4, 1)}));
    EXPECT_EQ(tiny.find("PROBLEM rank"), std::string::npos) << "less than a millisecond: " << tiny;
    const std::string small =
        text_of(explain_pace({pace(0, 0.03, 1), pace(1, 0.045, 1), pace(2, 0.03, 1)}));
    EXPECT_EQ(small.find("PROBLEM rank"), std::string::npos) << "of a second: " << small;
}

TEST(ExplainPace, SeesThatStepsTakeLongerThanTheyDid) {
    RankPace slower = pace(0, 0.75, 1);
    const RankPace before = pace(0, 0.4, 0.5, 30);
    slower.steps.insert(slower.steps.end(), before.steps.begin(), before.steps.end());
    EXPECT_THAT(text_of(explain_pace({slower})),
                HasSubstr("a step takes 1.0 s lately (median of the last 8); the 30 before took "
                          "500 ms: 2.0 times as long"));
    for (std::size_t i = 8; i < slower.steps.size(); ++i)
        slower.steps[i].stage = -1;  // of a stage with another context
    EXPECT_EQ(text_of(explain_pace({slower})).find("PROBLEM"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
