#include "controller/store/telemetry_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "controller/store/log_file.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

struct Telemetry {
    TempDir directory;
    TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    Bytes cap{1 << 20};
    std::unique_ptr<TelemetryStore> store = TelemetryStore::open(paths, cap).value();
    std::unique_ptr<TelemetryReader> reader = TelemetryReader::open(paths).value();
    const JobId job{"abc123"};

    void write(const TelemetryPiece& piece) {
        const Status status = store->write({&piece, 1});
        ASSERT_TRUE(status) << status.error().message;
    }
    TelemetryPiece step(std::int64_t offset, std::int64_t number, int rank = 0) const {
        return {.job = job,
                .epoch = {1},
                .rank = rank,
                .kind = PieceKind::step,
                .end_offset = offset,
                .received = {number},
                .step = number,
                .loss = 2.5,
                .bytes = format("step {}", number)};
    }
    TelemetryPiece log(std::int64_t end, std::string bytes) const {
        return {.job = job, .epoch = {1}, .end_offset = end, .bytes = std::move(bytes)};
    }
    LogPart read(std::int64_t offset = 0) {
        return reader->log(job, {1}, 0, offset, 1 << 20).value();
    }
};

TEST(Telemetry, KeepsStepsOnceInOrder) {
    Telemetry t;
    t.write(t.step(10, 1));
    t.write(t.step(20, 2));
    t.write(t.step(10, 1));  // again, after a reconnect
    const auto reports = t.reader->since(t.job, PieceKind::step, 0, 100).value();
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(reports[1].bytes, "step 2");
    EXPECT_EQ(t.reader->last(t.job, PieceKind::step).value()->bytes, "step 2");
    EXPECT_EQ(t.store->offsets({1}, 0).value().reports, 20);
    EXPECT_TRUE(t.reader->since(t.job, PieceKind::step, reports[1].id, 100).value().empty());
}

TEST(Telemetry, ALogBeginsAtItsLastLinesOrAtATime) {
    Telemetry t;
    constexpr std::int64_t kSecond = 1'000'000;
    std::int64_t end = 0;
    for (int line = 1; line <= 50; ++line) {
        const std::string text = format("line {}\n", line);
        end += static_cast<std::int64_t>(text.size());
        TelemetryPiece piece = t.log(end, text);
        piece.received = {100 * kSecond + line * kSecond};
        t.write(piece);
    }
    const auto from = [&t](const LogRange& range) {
        return t.read(t.reader->log_begin(t.job, {1}, 0, range).value());
    };
    EXPECT_EQ(from({.tail_lines = 1}).bytes, "line 50\n");
    EXPECT_EQ(from({.tail_lines = 2}).bytes.substr(0, 8), "line 49\n");
    EXPECT_EQ(from({.tail_lines = 1000}).offset, 0);
    const LogPart since = from({.since = {100 * kSecond + 30 * kSecond}});
    EXPECT_EQ(since.bytes, "line 30\n") << "a part ends where a later time begins";
    EXPECT_EQ(since.time.micros, 130 * kSecond);
    EXPECT_EQ(from({.tail_lines = 3, .since = {149 * kSecond}}).bytes, "line 49\n");
    EXPECT_TRUE(from({.since = {999 * kSecond}}).bytes.empty());
    EXPECT_EQ(t.read(0).time.micros, 101 * kSecond);
}

TEST(Telemetry, RankZeroSpeaksForTheJob) {
    Telemetry t;
    t.write(t.step(10, 1, 0));
    t.write(t.step(10, 9, 3));
    EXPECT_EQ(t.reader->last(t.job, PieceKind::step).value()->bytes, "step 1");
}

TEST(Telemetry, HasTheLastStepsOfEachRank) {
    Telemetry t;
    for (const std::int64_t number : {1, 2, 3})
        t.write(t.step(10 * number, number, 3));
    t.write(t.step(10, 7, 0));
    const auto steps = t.reader->last_steps({1}, 3, 2).value();
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].bytes, "step 3");
    EXPECT_EQ(steps[1].bytes, "step 2");
    EXPECT_TRUE(t.reader->last_steps({2}, 3, 2).value().empty()) << "of another attempt";
}

TEST(Telemetry, KeepsEvaluationsNotesAndLossesThatAreNotFinite) {
    Telemetry t;
    TelemetryPiece evaluation = t.step(10, 5);
    evaluation.kind = PieceKind::evaluation;
    evaluation.loss = std::nan("");
    t.write(evaluation);
    TelemetryPiece note = t.step(20, 0);
    note.kind = PieceKind::note;
    note.bytes = "checkpoint skipped";
    t.write(note);
    EXPECT_TRUE(t.reader->last(t.job, PieceKind::evaluation).value().has_value());
    EXPECT_EQ(t.reader->last(t.job, PieceKind::note).value()->bytes, "checkpoint skipped");
    EXPECT_FALSE(t.reader->last(t.job, PieceKind::step).value().has_value());
}

TEST(Telemetry, HasTheNewestReportOfEachSuite) {
    Telemetry t;
    std::int64_t at = 0;
    for (const auto& [name, bytes] : {std::pair{"near", "1"}, {"far", "2"}, {"near", "3"}}) {
        TelemetryPiece suite = t.step(++at, 0);
        suite.kind = PieceKind::suite;
        suite.name = name;
        suite.bytes = bytes;
        t.write(suite);
        t.write(suite);
    }
    const auto suites = t.reader->suites(t.job).value();
    ASSERT_EQ(suites.size(), 2u);
    EXPECT_EQ(suites[0].bytes, "2");
    EXPECT_EQ(suites[1].bytes, "3");
    EXPECT_EQ(t.reader->since(t.job, PieceKind::suite, 0, 10).value().size(), 3u);
    EXPECT_TRUE(t.reader->suites({"another"}).value().empty());
}

TEST(Telemetry, HasTheLastAlarmsOfAJob) {
    Telemetry t;
    for (const int number : {1, 2, 3}) {
        TelemetryPiece alarm = t.step(10 * number, 0);
        alarm.kind = PieceKind::alarm;
        alarm.bytes = format("damage {}", number);
        t.write(alarm);
        t.write(alarm);
    }
    const auto alarms = t.reader->alarms(t.job, 2).value();
    ASSERT_EQ(alarms.size(), 2u);
    EXPECT_EQ(alarms[0].bytes, "damage 3");
    EXPECT_EQ(alarms[1].bytes, "damage 2");
    EXPECT_TRUE(t.reader->alarms({"another"}, 2).value().empty());
    EXPECT_FALSE(t.reader->last(t.job, PieceKind::note).value().has_value());
}

TEST(Telemetry, HasTheNewestConnectionsOfEachRankOfAnAttempt) {
    Telemetry t;
    TelemetryPiece piece = t.step(10, 1, 3);
    piece.kind = PieceKind::connected;
    piece.bytes = "three";
    t.write(piece);
    t.write(piece);
    piece.rank = 1;
    piece.bytes = "one";
    t.write(piece);
    EXPECT_EQ(t.reader->connections({1}).value(),
              (std::map<int, std::string>{{1, "one"}, {3, "three"}}));
    EXPECT_TRUE(t.reader->connections({2}).value().empty());
    EXPECT_EQ(t.store->offsets({1}, 3).value().reports, 10);
}

TEST(Telemetry, OffsetsSurviveARestart) {
    Telemetry t;
    t.write(t.step(10, 1));
    t.write(t.log(5, "hello"));
    t.store.reset();
    t.store = TelemetryStore::open(t.paths, t.cap).value();
    EXPECT_EQ(t.store->offsets({1}, 0).value().reports, 10);
    EXPECT_EQ(t.store->offsets({1}, 0).value().log, 5);
    EXPECT_EQ(t.store->offsets({2}, 0).value().log, 0);
}

TEST(Log, OverlappingPiecesAreOneText) {
    Telemetry t;
    t.write(t.log(5, "hello"));
    t.write(t.log(8, "lo wo"));  // begins before the end
    t.write(t.log(5, "hello"));
    EXPECT_EQ(t.read().bytes, "hello wo");
    EXPECT_EQ(t.read(6).bytes, "wo");
    EXPECT_EQ(t.read(8).bytes, "");
}

TEST(Log, WhatAWorkerLostIsSkipped) {
    Telemetry t;
    t.write(t.log(5, "hello"));
    t.write(t.log(20005, "world"));
    EXPECT_EQ(t.read().bytes, "hello");
    const LogPart rest = t.read(5);
    EXPECT_EQ(rest.offset, 20000);
    EXPECT_EQ(rest.bytes, "world");
}

TEST(Log, TheOldestBytesAreDroppedAtTheCapAndCounted) {
    Telemetry t;
    t.cap = {64 * 1024};
    t.store = TelemetryStore::open(t.paths, t.cap).value();
    const std::int64_t chunk = 16 * 1024;
    for (int i = 1; i <= 20; ++i) {
        t.write(t.log(i * chunk, std::string(chunk, static_cast<char>('a' + i - 1))));
    }
    const LogPart part = t.read();
    EXPECT_EQ(part.dropped, 20 * chunk - t.cap.value);
    EXPECT_EQ(part.offset, part.dropped);
    EXPECT_EQ(part.bytes.size(), 64u * 1024);
    EXPECT_EQ(part.bytes.front(), 'q');
    EXPECT_EQ(part.bytes.back(), 't');
    struct stat info {};
    ASSERT_EQ(::stat(log_path(t.paths.logs, t.job.value, 1, 0).c_str(), &info), 0);
    EXPECT_LE(info.st_blocks * 512, 80 * 1024) << "the space is given back";
}

TEST(Log, OfARankThatSaidNothingIsEmpty) {
    Telemetry t;
    EXPECT_EQ(t.read().bytes, "");
    EXPECT_EQ(t.read().offset, 0);
}

TEST(Telemetry, AFailedWriteKeepsNothing) {
    Telemetry t;
    std::filesystem::remove_all(t.paths.logs);
    FILE* in_the_way = std::fopen(t.paths.logs.c_str(), "w");
    std::fclose(in_the_way);
    const TelemetryPiece pieces[] = {t.step(10, 1), t.log(5, "hello")};
    EXPECT_FALSE(t.store->write(pieces));
    EXPECT_EQ(t.store->offsets({1}, 0).value().reports, 0);
    EXPECT_FALSE(t.reader->last(t.job, PieceKind::step).value().has_value());
}

}  // namespace
}  // namespace rm::test
