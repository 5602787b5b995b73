#include "service/curves/run_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/format.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// The "step value" lines of another reader, written from the format.
std::string read_events(const std::string& directory) {
    const std::string command = format("python3 {} {} loss 2>&1", RM_READ_EVENTS, directory);
    std::string out;
    FILE* pipe = ::popen(command.c_str(), "r");
    for (std::array<char, 4096> part; std::fgets(part.data(), part.size(), pipe) != nullptr;)
        out += part.data();
    EXPECT_EQ(::pclose(pipe), 0) << out;
    return out;
}

struct RunFolder {
    TempDir temp;
    std::string directory = temp.file("abc123");

    RunFiles open() { return RunFiles::open(directory, "host").value(); }
    static CurveRow row(std::int64_t attempt, std::int64_t step, double loss) {
        return {attempt,
                step,
                {1'790'000'000 * kSecond + (10 * attempt + step) * kSecond},
                {{"loss", loss}}};
    }
    static void add(RunFiles& files, std::vector<CurveRow> rows) {
        const Status status = files.add(rows);
        ASSERT_TRUE(status) << status.error().message;
    }
};

TEST(EventFiles, HaveTheBytesOfTheFormat) {
    // The first record of a file that TensorFlow wrote: 24 bytes, brain.Event:2.
    const std::string head = event_file_head(0);
    EXPECT_EQ(head.substr(12, head.size() - 16), "\x1a\rbrain.Event:2");
    // CRC-32C of "123456789" is e3069283 (RFC 3720), which the mask turns into this.
    const std::string record = framed_record("123456789");
    EXPECT_EQ(record.substr(21), std::string("\xe5\xb0\x8a\xc7", 4));
}

TEST(RunFiles, AreReadByAnotherReader) {
    RunFolder run;
    RunFiles files = run.open();
    RunFolder::add(files, {RunFolder::row(1, 1, 5.5), RunFolder::row(1, 2, 4.25)});
    RunFolder::add(files, {RunFolder::row(1, 3, 3)});
    EXPECT_EQ(read_events(run.directory), "1 5.5\n2 4.25\n3 3.0\n");
    EXPECT_EQ(read(run.directory + "/metrics.jsonl"),
              "{\"step\":1,\"time\":\"2026-09-21T14:13:31Z\",\"attempt\":1,\"loss\":5.5}\n"
              "{\"step\":2,\"time\":\"2026-09-21T14:13:32Z\",\"attempt\":1,\"loss\":4.25}\n"
              "{\"step\":3,\"time\":\"2026-09-21T14:13:33Z\",\"attempt\":1,\"loss\":3}\n");
}

TEST(RunFiles, HaveNoStepTwiceAfterAnAttemptThatWentBack) {
    RunFolder run;
    RunFiles files = run.open();
    RunFolder::add(files,
                   {RunFolder::row(1, 1, 5), RunFolder::row(1, 2, 4), RunFolder::row(1, 3, 3)});
    RunFolder::add(
        files, {RunFolder::row(2, 2, 4.5), RunFolder::row(2, 3, 3.5), RunFolder::row(2, 4, 2.5)});
    EXPECT_EQ(read_events(run.directory), "1 5.0\n2 4.5\n3 3.5\n4 2.5\n");
    const std::string lines = read(run.directory + "/metrics.jsonl");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4);
    EXPECT_EQ(lines.find("\"loss\":4}"), lines.npos);
}

TEST(RunFiles, GoOnAfterARestartOfTheirWriter) {
    RunFolder run;
    {
        RunFiles files = run.open();
        RunFolder::add(files, {RunFolder::row(1, 1, 5), RunFolder::row(1, 2, 4)});
    }
    std::ofstream(run.directory + "/metrics.jsonl", std::ios::app) << "{\"step\":3,\"ti";
    RunFiles files = run.open();
    ASSERT_TRUE(files.last());
    EXPECT_EQ(files.last()->step, 2) << "the line that was cut off does not count";
    RunFolder::add(files, {RunFolder::row(1, 3, 3)});
    EXPECT_EQ(read_events(run.directory), "1 5.0\n2 4.0\n3 3.0\n");
    const std::string lines = read(run.directory + "/metrics.jsonl");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
}

TEST(RunFiles, GoBackByFarMoreThanTheirEnd) {
    RunFolder run;
    RunFiles files = run.open();
    std::vector<CurveRow> rows;
    for (std::int64_t step = 1; step <= 20'000; ++step)
        rows.push_back(RunFolder::row(1, step, 1.0 / static_cast<double>(step)));
    RunFolder::add(files, rows);
    RunFiles again = run.open();
    EXPECT_EQ(again.last()->step, 20'000);
    RunFolder::add(again, {RunFolder::row(2, 137, 0.5)});
    const std::string lines = read(run.directory + "/metrics.jsonl");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 137);
    RunFolder::add(again, {RunFolder::row(3, 1, 0.25)});
    EXPECT_EQ(run.open().last()->attempt, 3);
}

TEST(RunFiles, WriteWhatIsNoNumberAsNull) {
    CurveRow row = RunFolder::row(1, 1, std::numeric_limits<double>::quiet_NaN());
    EXPECT_NE(jsonl_line(row).find("\"loss\":null}"), std::string::npos);
}

TEST(RunFiles, NameADirectoryThatCannotBeMade) {
    TempDir temp;
    std::ofstream(temp.file("file")) << "x";
    const auto files = RunFiles::open(temp.file("file") + "/run", "host");
    ASSERT_FALSE(files);
    EXPECT_NE(files.error().message.find("/file/run"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
