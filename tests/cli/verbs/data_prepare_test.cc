#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/command_line.h"
#include "cli/screen/progress_display.h"
#include "engine/data/prepare.h"
#include "tests/cli/value_of.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using testing::HasSubstr;

std::variant<CommandLine, CommandLineEnd> parse(std::vector<const char*> words) {
    words.insert(words.begin(), {"ringmaster", "data", "prepare"});
    return parse_command_line(static_cast<int>(words.size()), words.data());
}

struct Ran {
    Result<ExitCode> code = ExitCode::ok;
    std::string out, err;
};

Ran run(std::vector<const char*> words) {
    std::ostringstream out, err;
    Console console{{out}, {err}};
    const SystemClock clock;
    VerbContext context{console, clock, {}};
    Ran ran;
    ran.code = std::get<CommandLine>(parse(std::move(words))).command->run(context);
    ran.out = out.str();
    ran.err = err.str();
    return ran;
}

TEST(DataPrepare, ReadsItsOptions) {
    const auto parsed =
        parse({"a", "b.jsonl", "--tokenizer", "tok", "--output", "out", "--jobs", "3"});
    const auto& line = std::get<CommandLine>(parsed);
    EXPECT_EQ(test::value_of<test::Texts>(line, "INPUT"), (test::Texts{"a", "b.jsonl"}));
    EXPECT_EQ(test::text_of(line, "--tokenizer"), "tok");
    EXPECT_EQ(test::text_of(line, "--output"), "out");
    EXPECT_EQ(test::text_of(line, "--format"), "auto");
    EXPECT_EQ(test::value_of<int>(line, "--jobs"), 3);
}

TEST(DataPrepare, SaysWhatIsMissingOrUnknown) {
    const auto complaint = [](std::vector<const char*> words) {
        const auto line = parse(std::move(words));
        const auto* end = std::get_if<CommandLineEnd>(&line);
        EXPECT_TRUE(end != nullptr && end->code == ExitCode::usage);
        return end == nullptr ? "" : end->err;
    };
    EXPECT_THAT(complaint({"--tokenizer", "bytes", "--output", "o"}), HasSubstr("INPUT"));
    EXPECT_THAT(complaint({"a", "--output", "o"}), HasSubstr("--tokenizer"));
    EXPECT_THAT(complaint({"a", "--tokenizer", "bytes"}), HasSubstr("--output"));
    EXPECT_THAT(complaint({"a", "--tokenizer", "bytes", "--output", "o", "--format", "llmc"}),
                HasSubstr("llmc"));
    EXPECT_THAT(complaint({"a", "--tokenizer", "bytes", "--output", "o", "--jobs", "0"}),
                HasSubstr("--jobs"));
}

TEST(DataPrepare, SaysWhatItWroteAndHowFast) {
    TempDir dir;
    dir.write("text/a.txt", "hello");
    dir.write("text/b.txt", "world!");
    dir.write("more.jsonl", "{\"text\": \"\"}\n{\"text\": \"abc\"}\n");
    const std::string text = dir.file("text"), more = dir.file("more.jsonl"), out = dir.file("out");
    const std::vector<const char*> words = {text.c_str(), more.c_str(), "--tokenizer", "bytes",
                                            "--output",   out.c_str(),  "--jobs",      "2"};
    const Ran ran = run(words);
    ASSERT_TRUE(ran.code) << ran.code.error().message;
    EXPECT_THAT(ran.out, HasSubstr("3 documents, 17 tokens from 14 B"));
    EXPECT_THAT(ran.out, HasSubstr("MB/s per thread\n" + dir.file("out.bin")));
    EXPECT_THAT(ran.err, HasSubstr("2 text files, 11 B"));
    EXPECT_THAT(ran.err, HasSubstr("2 lines of JSON in 1 file,"));
    EXPECT_THAT(ran.err, HasSubstr("skipped 1 empty document\n"));
    EXPECT_EQ(std::filesystem::file_size(dir.file("out.bin")), 34u);

    const Ran again = run(words);
    ASSERT_FALSE(again.code);
    EXPECT_EQ(exit_code_of(again.code.error()), ExitCode::rejected);
    EXPECT_THAT(again.code.error().message, HasSubstr("out.bin exists"));
}

PrepareProgress done(std::int64_t bytes) {
    constexpr std::int64_t kMiB = 1 << 20;
    return {
        {.documents = 1234, .tokens = 5'600'000, .bytes = bytes * kMiB}, bytes * kMiB, 1000 * kMiB};
}

TEST(DataPrepare, SaysHowMuchOfTheBytesIsDoneAndHowLongTheRestTakes) {
    EXPECT_EQ(prepare_line(done(250), Seconds{60}),
              "250.0 MiB of 1000.0 MiB (25%)  1,234 documents  5.6M tokens  4.4 MB/s  ETA 3m00s");
    EXPECT_EQ(prepare_line({}, Seconds{0}), "0 B of 0 B (100%)  0 documents  0 tokens");
}

TEST(DataPrepare, DrawsOneLineOnATerminal) {
    std::ostringstream out;
    {
        PrepareDisplay display(Output{.stream = out, .terminal = true, .width = 60});
        for (std::int64_t i = 0; i <= 10; ++i)
            display.show(done(100 * i), Seconds{static_cast<double>(i)});
    }
    const std::string text = out.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 11);
    EXPECT_THAT(text, testing::EndsWith("\x1b[K\n"));
    EXPECT_THAT(text, HasSubstr("500.0 MiB of 1000.0 MiB  1,234 documents"));
}

TEST(DataPrepare, PrintsAtMostALineForATenthAndNoneSoon) {
    const auto lines = [](double seconds_in_all) {
        std::ostringstream out;
        PrepareDisplay display(Output{.stream = out});
        for (int i = 1; i <= 1000; ++i)
            display.show(done(i), Seconds{seconds_in_all * i / 1000});
        const std::string text = out.str();
        return std::count(text.begin(), text.end(), '\n');
    };
    EXPECT_EQ(lines(5), 0) << "over before there is something to tell";
    EXPECT_EQ(lines(45), 4);
    EXPECT_EQ(lines(36'000), 10);
}

TEST(DataPrepare, NamesAnInputThatIsNotThere) {
    TempDir dir;
    const std::string none = dir.file("none");
    const Ran ran = run({none.c_str(), "--tokenizer", "bytes", "--output", "o"});
    ASSERT_FALSE(ran.code);
    EXPECT_EQ(exit_code_of(ran.code.error()), ExitCode::not_found);
    EXPECT_THAT(ran.code.error().message, HasSubstr(dir.file("none")));
}

}  // namespace
}  // namespace rm
