#include "worker/agent/telemetry_spool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/worker/support.h"
#include "worker/dir/files.h"
#include "worker/rank/jsonl_observer.h"
#include "worker/rank/report_line.h"

namespace rm {
namespace {

class Spool : public ::testing::Test {
protected:
    static void append(const std::string& path, const std::string& text) {
        std::ofstream(path, std::ios::app | std::ios::binary) << text;
    }
    void report(int rank, const ReportLine& line) {
        append(dir_.reports(rank), to_json(line) + "\n");
    }
    TelemetrySpool open() { return TelemetrySpool(dir_, attempt_); }

    const TempDir temp_;
    const AttemptDir dir_{temp_.path()};
    const AttemptFile attempt_{.epoch = {4},
                               .ranks = {{.rank = 2, .device = 0}, {.rank = 5, .device = 1}}};
};

template <typename T>
T content(const std::optional<SpooledPiece>& piece) {
    RM_CHECK(piece.has_value(), "there is no piece");
    return std::get<T>(piece->content);
}

TEST_F(Spool, SendsReportsBeforeLogsWithTheirOffsets) {
    append(dir_.log(2), "hello\n");
    report(2, {{1}, StepReport{.step = 7, .loss = 2.5}});
    report(2, {{2}, EvaluationReport{.step = 7, .loss = 3}});
    TelemetrySpool spool = open();
    auto piece = spool.next();
    EXPECT_EQ(content<StepReport>(piece).step, 7);
    EXPECT_EQ(content<StepReport>(piece).loss, 2.5);
    EXPECT_EQ(piece->epoch, Epoch{4});
    EXPECT_EQ(piece->rank, 2);
    EXPECT_LT(piece->end_offset, size_of_file(dir_.reports(2)));
    piece = spool.next();
    EXPECT_EQ(content<EvaluationReport>(piece).loss, 3);
    EXPECT_EQ(piece->end_offset, size_of_file(dir_.reports(2)));
    piece = spool.next();
    EXPECT_EQ(content<LogChunk>(piece).bytes, "hello\n");
    EXPECT_EQ(piece->end_offset, 6);
    EXPECT_FALSE(spool.next().has_value());
}

TEST_F(Spool, EveryKindOfReportMovesTheOffset) {
    const SuiteReport suite{.step = 2, .name = "niah", .cells = {{"niah", 128, 0.5, 1, 1, 0}}};
    report(5, {{1}, suite});
    report(5, {{1}, StartedReport{1, 9}});
    report(5, {{1}, CheckpointReport{3, "/c/j/e1-s3", 0.5}});
    report(5, {{1}, StageDoneReport{0, 3}});
    report(5, {{1}, NoteReport{"took the one before"}});
    report(5, {{1}, AlarmReport{"checkpoint e1-s3 skipped"}});
    const ConnectedReport connected{.rank = 5,
                                    .address = "10.0.0.5",
                                    .peers = {{4, {"10.0.0.5:400", "10.0.0.4:300"}}},
                                    .rings = {{"ring", {4, 4}}}};
    report(5, {{1}, connected});
    append(dir_.reports(5), "cut sho\n");
    TelemetrySpool spool = open();
    EXPECT_EQ(content<SuiteReport>(spool.next()), suite);
    EXPECT_EQ(content<Note>(spool.next()).text, "training steps 1 to 9");
    EXPECT_EQ(content<Note>(spool.next()).text, "checkpoint /c/j/e1-s3 written in 500 ms");
    EXPECT_EQ(content<Note>(spool.next()).text, "stage 1 done at step 3");
    EXPECT_EQ(content<Note>(spool.next()).text, "took the one before");
    const auto alarm = spool.next();
    EXPECT_EQ(content<Note>(alarm).text, "checkpoint e1-s3 skipped");
    EXPECT_TRUE(content<Note>(alarm).alarm);
    EXPECT_EQ(content<ConnectedReport>(spool.next()), connected);
    const auto last = spool.next();
    EXPECT_FALSE(content<Note>(last).text.empty());
    EXPECT_EQ(last->end_offset, size_of_file(dir_.reports(5)));
}

TEST_F(Spool, TakesWholeReportsOnly) {
    TelemetrySpool spool = open();
    const std::string line = to_json(ReportLine{{1}, NoteReport{"whole"}});
    append(dir_.reports(2), line.substr(0, 10));
    EXPECT_FALSE(spool.next().has_value());
    append(dir_.reports(2), line.substr(10) + "\n");
    EXPECT_EQ(content<Note>(spool.next()).text, "whole");
}

TEST_F(Spool, CutsLogsIntoChunks) {
    append(dir_.log(2), std::string(2 * kLargestLogChunk + 5, 'x'));
    TelemetrySpool spool = open();
    for (const std::int64_t size : {kLargestLogChunk, kLargestLogChunk, std::int64_t{5}}) {
        EXPECT_EQ(static_cast<std::int64_t>(content<LogChunk>(spool.next()).bytes.size()), size);
    }
    EXPECT_FALSE(spool.next().has_value());
}

TEST_F(Spool, LetsRanksTakeTurnsWithTheirLogs) {
    append(dir_.log(2), std::string(3 * kLargestLogChunk, 'x'));
    append(dir_.log(5), "short");
    TelemetrySpool spool = open();
    EXPECT_EQ(spool.next()->rank, 2);
    EXPECT_EQ(spool.next()->rank, 5);
    EXPECT_EQ(spool.next()->rank, 2);
}

TEST_F(Spool, SendsAgainWhatWasNotAcknowledged) {
    append(dir_.log(2), "0123456789");
    report(2, {{1}, NoteReport{"first"}});
    const std::int64_t first = size_of_file(dir_.reports(2));
    report(2, {{1}, NoteReport{"second"}});
    TelemetrySpool spool = open();
    while (spool.next()) {
    }
    spool.acknowledge(2, first, 4);
    spool.acknowledge(2, 0, 3);
    spool.acknowledge(77, 9, 9);
    spool.rewind();
    EXPECT_EQ(content<Note>(spool.next()).text, "second");
    EXPECT_EQ(content<LogChunk>(spool.next()).bytes, "456789");
}

TEST_F(Spool, GoesOnFromItsFileAfterARestart) {
    append(dir_.log(2), "0123456789");
    {
        TelemetrySpool spool = open();
        spool.acknowledge(2, 0, 6);
        ASSERT_TRUE(spool.save());
    }
    TelemetrySpool spool = open();
    EXPECT_EQ(content<LogChunk>(spool.next()).bytes, "6789");
    ASSERT_TRUE(replace_text_file(dir_.telemetry(), "damaged"));
    EXPECT_EQ(content<LogChunk>(open().next()).bytes, "0123456789");
}

// 1 KiB lines, so that every part of a log is recognised.
std::string numbered_lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        std::string line = format("line {:04}", i);
        line.resize(1023, '.');
        text += line + "\n";
    }
    return text;
}

std::int64_t bytes_on_disk(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_blocks * 512 : 0;
}

TEST_F(Spool, DropsTheOldestOfTheLongestLogAboveItsCapAndSaysSo) {
    append(dir_.log(2), numbered_lines(1000));
    append(dir_.log(5), "short\n");
    report(2, {{1}, StepReport{.step = 1}});
    const Bytes cap{512 * 1024};
    TelemetrySpool spool(dir_, attempt_, cap);
    spool.trim({1});
    EXPECT_EQ(content<StepReport>(spool.next()).step, 1);
    const std::string note = content<Note>(spool.next()).text;
    EXPECT_NE(note.find("of this rank's log were dropped: more than 512.0 KiB"), std::string::npos)
        << note;
    std::string log;
    while (const auto piece = spool.next()) {
        if (piece->rank == 2) log += content<LogChunk>(piece).bytes;
    }
    EXPECT_LT(log.size(), 448u * 1024);
    EXPECT_GT(log.size(), 440u * 1024);
    EXPECT_TRUE(numbered_lines(1000).ends_with(log)) << "the newest is kept, at its offset";
    EXPECT_LT(bytes_on_disk(dir_.log(2)), 460 * 1024);
    const std::int64_t reports = size_of_file(dir_.reports(2));
    spool.trim({2});
    EXPECT_EQ(size_of_file(dir_.reports(2)), reports) << "one note, not one for every look";
    ASSERT_TRUE(spool.save());
    TelemetrySpool later(dir_, attempt_, cap);
    while (later.next()) {
    }
    append(dir_.log(2), "more\n");
    EXPECT_EQ(content<LogChunk>(later.next()).bytes, "more\n");
}

TEST_F(Spool, FreesWhatTheControllerHasButTheTail) {
    append(dir_.log(2), numbered_lines(300));
    TelemetrySpool spool = open();
    spool.acknowledge(2, 0, size_of_file(dir_.log(2)));
    spool.trim({1});
    EXPECT_EQ(size_of_file(dir_.log(2)), 300 * 1024);
    EXPECT_LT(bytes_on_disk(dir_.log(2)), 80 * 1024);
    EXPECT_EQ(tail_of_file(dir_.log(2), 2000).substr(0, 9), "line 0299");
}

TEST_F(Spool, NeverDropsReports) {
    for (int i = 1; i <= 50; ++i)
        report(2, {{i}, StepReport{.step = i}});
    TelemetrySpool spool(dir_, attempt_, Bytes{1000});
    spool.trim({1});
    for (int i = 1; i <= 50; ++i)
        EXPECT_EQ(content<StepReport>(spool.next()).step, i);
    EXPECT_FALSE(spool.next().has_value());
}

TEST(Observer, OnAFullDiskGoesOn) {
    auto observer = JsonlObserver::open("/dev/full");
    ASSERT_TRUE(observer.ok()) << observer.error().message;
    observer->on_started(1, 2);
    observer->on_step(StepReport{.step = 1});
    observer->on_note("still here");
    EXPECT_TRUE(observer->started());
}

TEST_F(Spool, IsDrainedWhenAllThatIsThereIsAcknowledged) {
    TelemetrySpool spool = open();
    EXPECT_TRUE(spool.drained());
    append(dir_.log(5), "abc");
    EXPECT_FALSE(spool.drained());
    spool.acknowledge(5, 0, 3);
    EXPECT_TRUE(spool.drained());
}

}  // namespace
}  // namespace rm
