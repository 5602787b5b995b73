#include "cli/screen/log_printer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "service/convert/convert.h"

namespace rm {
namespace {

pb::LogPiece piece(const std::string& data, std::int64_t seconds = 0) {
    pb::LogPiece piece;
    piece.set_data(data);
    if (seconds > 0) *piece.mutable_time() = to_proto(WallTime{seconds * 1'000'000});
    return piece;
}

std::string printed(const std::vector<pb::LogPiece>& pieces, const std::string& prefix,
                    LogStamp stamp) {
    std::ostringstream out;
    std::mutex lock;
    {
        const Output output{out};
        LogPrinter printer(output, lock, prefix, stamp);
        for (const pb::LogPiece& piece : pieces)
            printer.add(piece);
    }
    return out.str();
}

TEST(LogPrinter, PassesBytesOnAsTheyAre) {
    EXPECT_EQ(printed({piece("a\nb"), piece("c")}, "", LogStamp::none), "a\nbc");
}

TEST(LogPrinter, PutsRankAndTimeBeforeWholeLines) {
    EXPECT_EQ(printed({piece("a\nb", 10), piece("c\n\nd", 20)}, "rank 1 | ", LogStamp::time),
              "rank 1 | 1970-01-01T00:00:10Z a\nrank 1 | 1970-01-01T00:00:10Z bc\n"
              "rank 1 | 1970-01-01T00:00:20Z \nrank 1 | 1970-01-01T00:00:20Z d\n");
    EXPECT_EQ(printed({piece("a")}, "", LogStamp::time), "-------------------- a\n");
}

TEST(LogPrinter, PrintsAnObjectForEachLine) {
    EXPECT_EQ(printed({piece("say \"hi\"\n", 10), piece("\xff")}, "3", LogStamp::json),
              R"({"rank":3,"time":"1970-01-01T00:00:10Z","text":"say \"hi\""})"
              "\n"
              "{\"rank\":3,\"time\":null,\"text\":\"\xef\xbf\xbd\"}\n");
}

}  // namespace
}  // namespace rm
