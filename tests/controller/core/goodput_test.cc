#include "controller/core/goodput/goodput.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "controller/core/goodput/goodput_book.h"

namespace rm {
namespace {

WallTime at(double seconds) {
    return {1'000'000'000'000 + static_cast<std::int64_t>(seconds * 1e6)};
}

StepTimes step(std::int64_t number, double end, double seconds) {
    return {.step = number, .end = at(end), .received = at(end), .seconds = seconds};
}

// An attempt whose steps are given one by one.
struct AnAttempt {
    double started = 0;
    AttemptAccount account{.epoch = {1}, .job = {"job"}};

    void take(const StepTimes& times) { rm::account(account, at(started), times); }
    AttemptSpan span(double ended, std::int64_t checkpoint_step = 0) const {
        return {at(started), ended > 0 ? at(ended) : WallTime{}, checkpoint_step,
                account.last_step > 0 ? &account : nullptr};
    }
};

void expect_split(const TimeSplit& split, const TimeSplit& expected) {
    EXPECT_NEAR(split.good, expected.good, 1e-6) << "good";
    for (std::size_t i = 0; i < kBadputNames.size(); ++i)
        EXPECT_NEAR(split.bad[i], expected.bad[i], 1e-6) << kBadputNames[i];
}

TimeSplit split(double good, std::initializer_list<std::pair<Badput, double>> bad) {
    TimeSplit split{.good = good};
    for (const auto& [cause, seconds] : bad)
        split.of(cause) = seconds;
    return split;
}

TEST(Goodput, AJobWithoutDevicesOnlyWaits) {
    expect_split(split_of({.submitted = at(5), .ended = {}, .attempts = {}}, at(12)),
                 split(0, {{Badput::queue, 7}}));
    expect_split(split_of({.submitted = at(5), .ended = at(9), .attempts = {}}, at(12)),
                 split(0, {{Badput::queue, 4}}));
}

TEST(Goodput, TimeBeforeTheFirstStepIsStartAndRestore) {
    AnAttempt run{.started = 10};
    StepTimes first = step(1, 15, 2);
    first.loading = 1;
    run.take(first);
    expect_split(split_of({at(0), {}, {run.span(0)}}, at(16)),
                 split(2, {{Badput::queue, 10}, {Badput::start, 2}, {Badput::restore, 1}}));
}

TEST(Goodput, AnAttemptWithoutAStepHasOnlyStarted) {
    const AttemptSpan failed{at(3), at(8)};
    expect_split(split_of({at(0), at(10), {failed}}, at(99)),
                 split(0, {{Badput::queue, 5}, {Badput::start, 5}}));
}

TEST(Goodput, WaitingForCheckpointsIsBadput) {
    AnAttempt run;
    run.take(step(1, 1, 1));
    StepTimes second = step(2, 4, 2);
    second.checkpoint = 0.75;
    second.between = 0.5;
    run.take(second);
    expect_split(split_of({at(0), {}, {run.span(0)}}, at(4)),
                 split(2.25, {{Badput::checkpoint, 1.25}, {Badput::idle, 0.5}}));
}

TEST(Goodput, AStepThatTakesFarLongerThanUsualIsAStall) {
    AnAttempt run;
    for (int number = 1; number <= 10; ++number)
        run.take(step(number, number, 1));
    run.take(step(11, 40, 30));
    run.take(step(12, 44, 4));
    expect_split(split_of({at(0), {}, {run.span(0)}}, at(44)), split(15, {{Badput::stall, 29}}));
}

TEST(Goodput, TimeLostToTheSlowestRankIsBadput) {
    AnAttempt run;
    StepTimes slow = step(1, 3, 3);
    slow.straggler = 1;
    run.take(slow);
    expect_split(split_of({at(0), {}, {run.span(0)}}, at(3)), split(2, {{Badput::straggler, 1}}));
}

// Each step is good once: the first time. A counter never falls.
TEST(Goodput, StepsThatRunAgainAreBadputTheSecondTime) {
    AnAttempt first;
    for (int number = 1; number <= 7; ++number)
        first.take(step(number, number, 1));
    AnAttempt second{.started = 10};
    second.account.reached = 7;
    second.take(step(6, 12, 1));
    second.take(step(7, 13, 1));
    second.take(step(8, 14, 1));
    const JobSpan job{at(0), {}, {first.span(7.5, 5), second.span(0)}};
    expect_split(split_of(job, at(20)),
                 split(8, {{Badput::queue, 2.5}, {Badput::start, 1}, {Badput::recomputed, 2.5}}));
}

TEST(Goodput, TheEndOfAnAttemptIsItsCheckpointOrALostStepOrAStall) {
    AnAttempt run;
    for (int number = 1; number <= 4; ++number)
        run.take(step(number, number, 1));
    expect_split(split_of({at(0), at(6), {run.span(6, 4)}}, at(16)),
                 split(4, {{Badput::checkpoint, 2}}));
    expect_split(split_of({at(0), at(4.5), {run.span(4.5, 2)}}, at(19)),
                 split(4, {{Badput::recomputed, 0.5}}));
    expect_split(split_of({at(0), at(64), {run.span(64, 2)}}, at(99)),
                 split(4, {{Badput::recomputed, 1}, {Badput::stall, 59}}));
}

// Its reports are on their way for a moment: a part that is counted never falls.
TEST(Goodput, TheEndOfAnAttemptCountsWhenItsLastReportsAreThere) {
    AnAttempt run;
    run.take(step(1, 1, 1));
    JobSpan job{at(0), at(3), {run.span(3)}};
    expect_split(split_of(job, at(4)), split(1, {}));
    run.take(step(2, 2, 1));
    job.attempts = {run.span(3)};
    expect_split(split_of(job, at(13)), split(2, {{Badput::recomputed, 1}}));
}

TEST(Goodput, ClocksThatDifferDoNotMatter) {
    for (const double skew : {-3600.0, 0.0, 3600.0}) {
        AnAttempt run{.started = 10};
        for (int number = 1; number <= 5; ++number) {
            StepTimes times = step(number, 12 + number + skew, 1);
            times.received = at(12 + number);
            run.take(times);
        }
        expect_split(split_of({at(10), {}, {run.span(0)}}, at(17)), split(5, {{Badput::start, 2}}));
    }
}

// The controller was away for a minute: the reports of that time came at once.
TEST(Goodput, LateReportsCountForWhenTheStepsWere) {
    AnAttempt run;
    for (int number = 1; number <= 100; ++number) {
        StepTimes times = step(number, number, 1);
        if (number > 20 && number < 80) times.received = at(80);
        run.take(times);
    }
    expect_split(split_of({at(0), {}, {run.span(0)}}, at(100)), split(100, {}));
}

// Whatever happens, the parts add up and none falls.
TEST(Goodput, AddsUpToTheWallTimeForAnyHistory) {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const auto any = [&](double most) {
        return std::uniform_real_distribution<double>(0, most)(random);
    };
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<std::unique_ptr<AnAttempt>> runs;
        JobSpan job{at(0), {}, {}};
        double now = 0;
        std::int64_t reached = 0;
        TimeSplit before;
        const auto look = [&] {
            const TimeSplit split = split_of(job, at(now));
            EXPECT_GE(split.good, before.good - 1e-9);
            for (std::size_t i = 0; i < kBadputNames.size(); ++i)
                EXPECT_GE(split.bad[i], before.bad[i] - 1e-9) << kBadputNames[i];
            EXPECT_LE(split.total(), now + 1e-3);
            before = split;
        };
        for (int attempt = 0; attempt < 4; ++attempt) {
            now += any(5);
            look();
            runs.push_back(std::make_unique<AnAttempt>(AnAttempt{.started = now}));
            AnAttempt& run = *runs.back();
            run.account.reached = reached;
            std::int64_t number = static_cast<std::int64_t>(any(static_cast<double>(reached)));
            for (int i = 0; i < 20; ++i) {
                const double seconds = any(i % 7 == 0 ? 20 : 2);
                now += any(1) + seconds;
                StepTimes times = step(++number, now, seconds);
                times.checkpoint = any(seconds);
                times.between = any(2);
                times.loading = any(3);
                times.straggler = any(1);
                run.take(times);
                reached = std::max(reached, number);
                job.attempts.resize(static_cast<std::size_t>(attempt));
                job.attempts.push_back(run.span(0));
                look();
            }
            now += any(10);
            job.attempts.back() = run.span(now, any(1) < 0.5 ? number : 0);
            look();
        }
        now += 10;
        EXPECT_NEAR(split_of(job, at(now)).total(), now, 1e-3);
    }
}

// --- The book: accounts of many ranks and attempts ---

RankStep report(std::int64_t epoch, int rank, std::int64_t number, double end) {
    RankStep step{.job = {"job"},
                  .epoch = {epoch},
                  .rank = rank,
                  .end_offset = number * 100,
                  .received = at(end),
                  .end = at(end),
                  .report = {}};
    step.report.step = number;
    step.report.seconds = 1;
    return step;
}

constexpr GoodputBook::Facts kTwoRanks{{1'000'000'000'000}, 2};

AttemptAccount only(const GoodputBook& book) {
    const std::vector<AttemptAccount> changed = book.changed();
    EXPECT_EQ(changed.size(), 1u);
    return changed.empty() ? AttemptAccount{} : changed.front();
}

TEST(GoodputBook, CountsEachReportOnceAndOnlyThoseOfRankZero) {
    GoodputBook book;
    book.put({"job"}, {});
    for (int again = 0; again < 2; ++again) {
        book.take(report(1, 0, 1, 1), kTwoRanks);
        book.take(report(1, 1, 1, 1), kTwoRanks);
    }
    EXPECT_NEAR(only(book).split.good, 1, 1e-9);
}

TEST(GoodputBook, FindsTheStragglerByWhatTheOthersWait) {
    GoodputBook book;
    book.put({"job"}, {});
    RankStep waiting = report(1, 0, 1, 1);
    waiting.report.phase_seconds["ring_exposed"] = 0.4;
    book.take(report(1, 1, 1, 1), kTwoRanks);
    book.take(waiting, kTwoRanks);
    EXPECT_NEAR(only(book).split.of(Badput::straggler), 0.4, 1e-9);
    EXPECT_NEAR(only(book).split.good, 0.6, 1e-9);
}

TEST(GoodputBook, KnowsTheStepsOfEarlierAttempts) {
    GoodputBook book;
    book.put({"job"}, {});
    const GoodputBook::Facts one{at(0), 1};
    for (int number = 1; number <= 3; ++number)
        book.take(report(1, 0, number, number), one);
    for (int number = 3; number <= 5; ++number)
        book.take(report(2, 0, number, 10 + number), {at(12), 1});
    const std::vector<AttemptAccount> accounts = book.changed();
    ASSERT_EQ(accounts.size(), 2u);
    EXPECT_NEAR(accounts[1].split.of(Badput::recomputed), 1, 1e-9);
    EXPECT_NEAR(accounts[1].split.good, 2, 1e-9);
}

// The accounts that are kept say all that the next controller needs.
TEST(GoodputBook, ContinuesFromWhatIsKept) {
    GoodputBook whole;
    whole.put({"job"}, {});
    GoodputBook before;
    before.put({"job"}, {});
    const GoodputBook::Facts one{at(0), 1};
    for (int number = 1; number <= 40; ++number)
        whole.take(report(1, 0, number, number), one);
    for (int number = 1; number <= 20; ++number)
        before.take(report(1, 0, number, number), one);
    GoodputBook after;
    after.put({"job"}, before.changed());
    for (int number = 15; number <= 40; ++number)
        after.take(report(1, 0, number, number), one);
    EXPECT_EQ(only(after), only(whole));
}

}  // namespace
}  // namespace rm
