#include "worker/agent/telemetry_spool.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/worker/support.h"
#include "worker/dir/files.h"
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
    report(5, {{1}, StartedReport{1, 9}});
    report(5, {{1}, CheckpointReport{3, "/c/j/e1-s3", 0.5}});
    report(5, {{1}, StageDoneReport{0, 3}});
    report(5, {{1}, NoteReport{"took the one before"}});
    append(dir_.reports(5), "cut sho\n");
    TelemetrySpool spool = open();
    EXPECT_EQ(content<Note>(spool.next()).text, "training steps 1 to 9");
    EXPECT_EQ(content<Note>(spool.next()).text, "checkpoint /c/j/e1-s3 written in 500 ms");
    EXPECT_EQ(content<Note>(spool.next()).text, "stage 1 done at step 3");
    EXPECT_EQ(content<Note>(spool.next()).text, "took the one before");
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
