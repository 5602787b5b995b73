#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/command_line.h"
#include "cli/verbs/verbs.h"
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

Ran run(const PrepareDataOptions& options) {
    std::ostringstream out, err;
    Console console{{out}, {err}};
    const SystemClock clock;
    VerbContext context{console, clock, {}};
    Ran ran;
    ran.code = run_verb(options, context);
    ran.out = out.str();
    ran.err = err.str();
    return ran;
}

TEST(DataPrepare, ReadsItsOptions) {
    const auto line =
        parse({"a", "b.jsonl", "--tokenizer", "tok", "--output", "out", "--jobs", "3"});
    const auto& options = std::get<PrepareDataOptions>(std::get<CommandLine>(line).verb);
    EXPECT_EQ(options.inputs, (std::vector<std::string>{"a", "b.jsonl"}));
    EXPECT_EQ(options.tokenizer, "tok");
    EXPECT_EQ(options.output, "out");
    EXPECT_EQ(options.format, "auto");
    EXPECT_EQ(options.num_threads, 3);
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
    const PrepareDataOptions options{.inputs = {dir.file("text"), dir.file("more.jsonl")},
                                     .tokenizer = "bytes",
                                     .output = dir.file("out"),
                                     .num_threads = 2};
    const Ran ran = run(options);
    ASSERT_TRUE(ran.code) << ran.code.error().message;
    EXPECT_THAT(ran.out, HasSubstr("3 documents, 17 tokens from 14 B"));
    EXPECT_THAT(ran.out, HasSubstr("MB/s per thread\n" + dir.file("out.bin")));
    EXPECT_THAT(ran.err, HasSubstr("2 text files, 11 B"));
    EXPECT_THAT(ran.err, HasSubstr("2 lines of JSON in 1 files"));
    EXPECT_THAT(ran.err, HasSubstr("passed over 1 empty documents"));
    EXPECT_EQ(std::filesystem::file_size(dir.file("out.bin")), 34u);

    const Ran again = run(options);
    ASSERT_FALSE(again.code);
    EXPECT_EQ(exit_code_of(again.code.error()), ExitCode::rejected);
    EXPECT_THAT(again.code.error().message, HasSubstr("out.bin exists"));
}

TEST(DataPrepare, NamesAnInputThatIsNotThere) {
    TempDir dir;
    const Ran ran = run({.inputs = {dir.file("none")}, .tokenizer = "bytes", .output = "o"});
    ASSERT_FALSE(ran.code);
    EXPECT_EQ(exit_code_of(ran.code.error()), ExitCode::not_found);
    EXPECT_THAT(ran.code.error().message, HasSubstr(dir.file("none")));
}

}  // namespace
}  // namespace rm
