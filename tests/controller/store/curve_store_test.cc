#include "controller/store/curve_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "controller/store/telemetry_store.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr WallTime kStart{1'790'000'000 * kSecond};

// Reports are "step loss" here.
std::optional<StepSamples> sample(std::string_view report, int rank) {
    const auto parts = split(report, ' ');
    const auto step = parse_number<std::int64_t>(parts.front());
    const auto loss = parse_number<double>(parts.back());
    if (parts.size() != 2 || !step || !loss) return std::nullopt;
    StepSamples samples{*step, {{"seconds", 1}}};
    if (rank == 0) samples.samples.push_back({"loss", *loss});
    return samples;
}

double loss_at(std::int64_t step) {
    return 8.0 / static_cast<double>(1 + step);
}

struct Curves {
    TempDir directory;
    TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    std::unique_ptr<TelemetryStore> store = TelemetryStore::open(paths, {1 << 20}, sample).value();
    std::unique_ptr<TelemetryReader> reader = TelemetryReader::open(paths, sample).value();
    const JobId job{"abc123"};
    std::int64_t offset = 0;

    // Writes the steps of an attempt, one a second, whose loss is `by` times loss_at().
    void train(std::int64_t from, std::int64_t to, std::int64_t epoch = 1, double by = 1,
               int rank = 0) {
        std::vector<TelemetryPiece> pieces;
        for (std::int64_t step = from; step <= to; ++step) {
            pieces.push_back({.job = job,
                              .epoch = {epoch},
                              .rank = rank,
                              .kind = PieceKind::step,
                              .end_offset = ++offset,
                              .received = {kStart.micros + step * kSecond},
                              .step = step,
                              .loss = by * loss_at(step),
                              .bytes = format("{} {}", step, by * loss_at(step))});
        }
        const Status status = store->write(pieces);
        ASSERT_TRUE(status) << status.error().message;
        ASSERT_TRUE(store->pack());
    }
    struct TimedCurve {
        CurveLine line;
        std::vector<WallTime> times;
    };
    TimedCurve read(const std::string& quantity = "loss", int rank = 0, std::int64_t from = 0,
                    int max_points = 0) {
        return reader->curves([&](CurveReader& curves) -> TimedCurve {
            auto found = curves
                             .read({.job = job,
                                    .quantities = {quantity},
                                    .rank = rank,
                                    .from_step = from,
                                    .max_points = max_points})
                             .value();
            CurveLine& line = found.front().line;
            std::vector<WallTime> times = curves.times(job, rank, line.steps).value();
            return {std::move(line), std::move(times)};
        });
    }
    std::size_t whole(std::int64_t epoch = 1, int rank = 0) {
        return reader->last_steps({epoch}, rank, 1'000'000).value().size();
    }
    void tidy(WallTime now) {
        for (bool more = true; more;)
            more = store->tidy(now).value();
    }
};

void expect_steps(const CurveLine& line, std::int64_t first, std::int64_t last) {
    ASSERT_EQ(line.steps.size(), static_cast<std::size_t>(last - first + 1));
    for (std::size_t i = 0; i < line.size(); ++i)
        ASSERT_EQ(line.steps[i], first + static_cast<std::int64_t>(i));
}

TEST(Curves, OfPackedReportsAreThoseOfWholeOnes) {
    Curves t;
    t.train(1, 5000);
    EXPECT_LT(t.whole(), 768u) << "the others are packed";
    EXPECT_GE(t.whole(), 512u);
    const Curves::TimedCurve curve = t.read();
    expect_steps(curve.line, 1, 5000);
    for (std::size_t i = 0; i < curve.line.size(); ++i) {
        const std::int64_t step = curve.line.steps[i];
        EXPECT_FLOAT_EQ(static_cast<float>(curve.line.values[i]),
                        static_cast<float>(loss_at(step)));
        EXPECT_EQ(curve.times[i].micros, kStart.micros + step * kSecond);
    }
}

TEST(Curves, WaitForTheAccountsOfTimeToReadTheirSteps) {
    Curves t;
    Database database = Database::open(t.paths.database, Access::write).value();
    const auto read_up_to = [&](std::int64_t id) {
        ASSERT_TRUE(database.execute(
            format("INSERT OR REPLACE INTO goodput_read (one, id) VALUES (1, {})", id)));
    };
    read_up_to(100);
    t.train(1, 2000);
    EXPECT_EQ(t.whole(), 1900u) << "the others are unread";
    read_up_to(2000);
    t.train(2001, 2001);
    EXPECT_EQ(t.whole(), 512u);
    expect_steps(t.read().line, 1, 2001);
    t.train(2002, 20'000);
    EXPECT_EQ(t.whole(), 512u) << "nobody reads, and they are very many";
}

TEST(Curves, GrowOneChunkUntilItIsLarge) {
    Curves t;
    for (std::int64_t step = 1; step < 40'000; step += 1000)
        t.train(step, step + 999);
    Database database = Database::open(t.paths.database, Access::read).value();
    Statement chunks =
        database.prepare("SELECT COUNT(*) FROM curves WHERE quantity = 'loss'").value();
    ASSERT_TRUE(chunks.step().value());
    EXPECT_EQ(chunks.whole(0), 3) << "16,384 steps in one";
    expect_steps(t.read().line, 1, 40'000);
}

TEST(Curves, OfAWindowBeginWhereItDoes) {
    Curves t;
    t.train(1, 3000, 1);
    t.train(1501, 6000, 2, 10);
    for (const std::int64_t from : {1, 700, 1500, 1501, 2900, 5999}) {
        const Curves::TimedCurve curve = t.read("loss", 0, from);
        expect_steps(curve.line, from, 6000);
        const double by = from > 1500 ? 10 : 1;
        EXPECT_FLOAT_EQ(static_cast<float>(curve.line.values[0]),
                        static_cast<float>(by * loss_at(from)));
        EXPECT_EQ(curve.times[0].micros, kStart.micros + from * kSecond);
    }
}

TEST(Curves, OfALaterAttemptReplaceTheStepsThatItRanAgain) {
    Curves t;
    t.train(1, 3000, 1);
    t.train(2501, 6000, 2, 10);
    t.train(100, 99, 3);  // an attempt without a step
    const CurveLine line = t.read().line;
    expect_steps(line, 1, 6000);
    EXPECT_FLOAT_EQ(static_cast<float>(line.values[2499]), static_cast<float>(loss_at(2500)));
    EXPECT_FLOAT_EQ(static_cast<float>(line.values[2500]), static_cast<float>(10 * loss_at(2501)));
}

TEST(Curves, OfFewPointsHaveEverySpike) {
    Curves t;
    t.train(1, 7'311);
    t.train(7'312, 7'312, 1, 1e6);
    t.train(7'313, 20'000);
    const CurveLine few = t.read("loss", 0, 0, 50).line;
    EXPECT_LT(few.size(), 3'000u);
    EXPECT_EQ(few.steps.front(), 1);
    EXPECT_EQ(few.steps.back(), 20'000);
    const auto spike = std::find(few.steps.begin(), few.steps.end(), 7'312);
    ASSERT_NE(spike, few.steps.end());
    EXPECT_TRUE(std::is_sorted(few.steps.begin(), few.steps.end()));
}

TEST(Curves, ArePackedOnceTheirAttemptIsQuiet) {
    Curves t;
    t.train(1, 500);
    t.train(1, 100, 1, 1, 3);
    t.tidy(kStart + Seconds{600});
    EXPECT_EQ(t.whole(), 500u);
    t.tidy(kStart + Seconds{500} + kEnded);
    EXPECT_EQ(t.whole(), 64u);
    EXPECT_EQ(t.whole(1, 3), 1u);
    expect_steps(t.read().line, 1, 500);
    expect_steps(t.read("seconds", 3).line, 1, 100);
    EXPECT_EQ(t.read("loss", 3).line.size(), 0u);
}

TEST(Curves, GrowSmallerWithAge) {
    Curves t;
    t.train(1, 20'000);
    const auto size_at = [&](Seconds age) {
        t.tidy(kStart + Seconds{20'000} + age);
        const CurveLine line = t.read().line;
        EXPECT_EQ(line.steps.front(), 1);
        EXPECT_EQ(line.steps.back(), 20'000);
        return line.size();
    };
    EXPECT_EQ(size_at(kEnded), 20'000u);
    const std::size_t old = size_at(kOld);
    EXPECT_LE(old, 4096u);
    EXPECT_GE(old, 2048u);
    EXPECT_EQ(size_at(kOld), old) << "once";
    const Curves::TimedCurve curve = t.read();
    for (std::size_t i = 0; i < curve.line.size(); ++i)
        EXPECT_NEAR(static_cast<double>(curve.times[i].micros - kStart.micros) / kSecond,
                    static_cast<double>(curve.line.steps[i]), 1.0);
    EXPECT_LE(size_at(kAncient), 1024u);
}

TEST(Curves, OfRanksStayBounded) {
    Curves t;
    for (std::int64_t begin = 1; begin < 40'000; begin += 2000) {
        t.train(begin, begin + 1999, 1, 1, 7);
        t.tidy(kStart);
    }
    const CurveLine line = t.read("seconds", 7).line;
    EXPECT_LE(line.size(), (1u << 14) + 256);
    EXPECT_EQ(line.steps.back(), 40'000);
}

TEST(Curves, NameTheirQuantitiesAndRanks) {
    Curves t;
    t.train(1, 3000);
    t.train(1, 2, 1, 1, 5);
    t.reader->curves([&](CurveReader& curves) {
        EXPECT_EQ(curves.quantities(t.job, 0).value(),
                  (std::vector<std::string>{"loss", "seconds"}));
        EXPECT_EQ(curves.ranks(t.job).value(), (std::vector<int>{0, 5}));
        EXPECT_TRUE(curves.quantities({"none"}, 0).value().empty());
        return 0;
    });
}

TEST(Curves, SurviveARestartOfTheController) {
    Curves t;
    t.train(1, 1500);
    t.store = TelemetryStore::open(t.paths, {1 << 20}, sample).value();
    t.train(1501, 3000);
    EXPECT_LT(t.whole(), 768u) << "the reports of before the restart count";
    expect_steps(t.read().line, 1, 3000);
}

}  // namespace
}  // namespace rm::test
