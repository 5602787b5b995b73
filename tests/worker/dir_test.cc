#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>

#include "tests/worker/support.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/exchange_lines.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"
#include "worker/dir/process.h"
#include "worker/dir/progress_file.h"
#include "worker/dir/unix_socket.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(AttemptFiles, ComeBackAsTheyWereWritten) {
    const AttemptFile attempt{.epoch = {5},
                              .job = {"abc123"},
                              .ranks = {{.rank = 2, .device = 0}, {.rank = 3, .device = 1}},
                              .num_ranks = 4,
                              .data_address = "127.0.0.1",
                              .rank_command = {"/bin/x", "rank"},
                              .orphan = {OrphanMode::stop, Seconds{1.5}, Seconds{2}},
                              .ports = {7080, 7199}};
    EXPECT_EQ(*parse_attempt_file(to_json(attempt)), attempt);
    const ShimFile shim{.epoch = {5},
                        .job = {"abc123"},
                        .shim = {12, 3456},
                        .boot_id = "b",
                        .ranks = {{.rank = 2, .process = {13, 9}}}};
    EXPECT_EQ(*parse_shim_file(to_json(shim)), shim);
    const ExitFile exit{.code = 1, .signal = 0, .words = "line\n\"two\"", .mono_nanos = 77};
    EXPECT_EQ(*parse_exit_file(to_json(exit)), exit);
}

TEST(AttemptFiles, BytesThatAreNotTextDoNotStopAnExitFile) {
    EXPECT_TRUE(parse_exit_file(to_json(ExitFile{.words = "\xff\xfe bad"})).ok());
}

TEST(AttemptFiles, DamagedOnesAreErrorsThatNameThem) {
    EXPECT_THAT(parse_attempt_file("{").error().message, HasSubstr("attempt.json"));
    EXPECT_THAT(parse_attempt_file("{}").error().message, HasSubstr("epoch"));
    EXPECT_FALSE(parse_shim_file(R"({"epoch":"five"})").ok());
    EXPECT_FALSE(parse_exit_file("").ok());
    EXPECT_THAT(parse_word<OrphanMode>("drop").error().message,
                HasSubstr("is not known; keep or stop"));
}

TEST(ExchangeLines, CarryAnyBytes) {
    const ExchangeQuestion question{3, "ring", std::string("\0\xff\n{}", 5)};
    EXPECT_EQ(*parse_exchange_question(to_json(question)), question);
    const std::vector<std::string> table = {"", std::string("\0\n", 2), "x"};
    EXPECT_EQ(*parse_exchange_answer(to_json(ExchangeAnswer(table))), table);
    const auto refused =
        parse_exchange_answer(to_json(ExchangeAnswer(invalid_argument("rank {}", 9))));
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(refused.error().message, "rank 9");
    EXPECT_FALSE(parse_exchange_question("{}").ok());
    EXPECT_EQ(parse_exchange_answer(R"({"blobs":["0g"]})").error().code, ErrorCode::data_loss);
    EXPECT_EQ(parse_exchange_answer(R"({"blobs":["012"]})").error().code, ErrorCode::data_loss);
}

TEST(ExchangeLines, TellTheTwoQuestionsApart) {
    const ExchangeQuestion exchange{3, "ring", "blob"};
    const PublishQuestion publish{4};
    EXPECT_EQ(*parse_rank_question(to_json(exchange)), RankQuestion(exchange));
    EXPECT_EQ(*parse_rank_question(to_json(publish)), RankQuestion(publish));
    EXPECT_EQ(parse_rank_question(R"({"publish":true})").error().code, ErrorCode::data_loss);
    EXPECT_EQ(parse_rank_question("").error().code, ErrorCode::data_loss);
    EXPECT_TRUE(parse_publish_answer(publish_answer_to_json({})).ok());
    const Status refused = parse_publish_answer(
        publish_answer_to_json(make_error(ErrorCode::failed_precondition, "epoch {}", 9)));
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_EQ(refused.error().message, "epoch 9");
    EXPECT_EQ(parse_publish_answer("{}").error().code, ErrorCode::data_loss);
}

TEST(Files, AreReplacedWholeAndReadInPieces) {
    const TempDir dir;
    const std::string path = dir.path() + "/f";
    EXPECT_EQ(read_text_file(path).error().code, ErrorCode::not_found);
    ASSERT_TRUE(replace_text_file(path, "first"));
    ASSERT_TRUE(replace_text_file(path, "0123456789"));
    EXPECT_EQ(*read_text_file(path), "0123456789");
    EXPECT_EQ(size_of_file(path), 10);
    EXPECT_EQ(read_file_piece(path, 4, 3), "456");
    EXPECT_EQ(read_file_piece(path, 8, 30), "89");
    EXPECT_EQ(read_file_piece(path, 11, 3), "");
    EXPECT_EQ(read_file_piece(dir.path() + "/none", 0, 3), "");
    EXPECT_FALSE(replace_text_file(dir.path() + "/no/such", "x").ok());
}

TEST(Files, TailIsWholeLinesWithoutTrailingBlanks) {
    const TempDir dir;
    const std::string path = dir.path() + "/log";
    ASSERT_TRUE(replace_text_file(path, "aaaa\nbbbb\ncccc\n\n"));
    EXPECT_EQ(tail_of_file(path, 100), "aaaa\nbbbb\ncccc");
    EXPECT_EQ(tail_of_file(path, 9), "cccc");
    EXPECT_EQ(tail_of_file(dir.path() + "/none", 9), "");
}

TEST(Process, IsTheSameOnlyWithItsStartTime) {
    const Result<ProcessId> self = process_id(::getpid());
    ASSERT_TRUE(self.ok());
    EXPECT_GT(self->start_ticks, 0u);
    EXPECT_TRUE(is_running(*self));
    EXPECT_FALSE(is_running({self->pid, self->start_ticks + 1}));
    EXPECT_EQ(boot_id().size(), 36u);
}

TEST(Process, IsNotRunningOnceItHasEnded) {
    const TempDir dir;
    const Result<pid_t> pid = spawn({.argv = {"/bin/sleep", "60"}, .output = dir.path() + "/out"});
    ASSERT_TRUE(pid.ok());
    const ProcessId process = *process_id(*pid);
    EXPECT_TRUE(is_running(process));
    EXPECT_FALSE(is_suspended(process));
    ::kill(*pid, SIGSTOP);
    EXPECT_TRUE(eventually([&] { return is_suspended(process); }));
    EXPECT_TRUE(is_running(process));
    ::kill(*pid, SIGKILL);
    EXPECT_TRUE(eventually([&] { return !is_running(process); }));  // a zombie is not running
    ::waitpid(*pid, nullptr, 0);
    EXPECT_FALSE(is_running(process));
}

TEST(Process, ThatCannotBeStartedIsAnErrorWithItsPath) {
    const auto failed = spawn({.argv = {"/no/such/program"}, .output = "/dev/null"});
    EXPECT_THAT(failed.error().message, HasSubstr("/no/such/program: No such file"));
}

TEST(LiveLock, IsHeldUntilTheLastHeirIsGone) {
    const TempDir dir;
    const std::string path = dir.path() + "/live.lock";
    EXPECT_FALSE(is_live(path));
    Result<LiveLock> lock = LiveLock::take(path);
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(is_live(path));
    EXPECT_EQ(LiveLock::take(path).error().code, ErrorCode::failed_precondition);
    const Result<pid_t> heir = spawn(
        {.argv = {"/bin/sleep", "60"}, .output = dir.path() + "/out", .live_lock = lock->fd()});
    ASSERT_TRUE(heir.ok());
    lock = make_error(ErrorCode::unknown, "released");
    EXPECT_TRUE(is_live(path));
    ::kill(*heir, SIGKILL);
    EXPECT_TRUE(eventually([&] { return !is_live(path); }));
    ::waitpid(*heir, nullptr, 0);
    EXPECT_TRUE(LiveLock::take(path).ok());
}

TEST(ProgressFile, IsSharedByAllWhoMapIt) {
    const TempDir dir;
    const std::string path = dir.path() + "/p";
    EXPECT_FALSE(ProgressFile::map(path).ok());
    ASSERT_TRUE(ProgressFile::create(path).ok());
    const Result<ProgressFile> writer = ProgressFile::map(path);
    const Result<ProgressFile> reader = ProgressFile::map(path);
    ASSERT_TRUE(writer.ok() && reader.ok());
    EXPECT_EQ(reader->page().step.load(), 0);
    writer->page().step = 12;
    EXPECT_EQ(reader->page().step.load(), 12);
}

TEST(ProgressFile, ThatIsTooShortIsRefused) {
    const TempDir dir;
    ASSERT_TRUE(replace_text_file(dir.path() + "/p", "short"));
    EXPECT_EQ(ProgressFile::map(dir.path() + "/p").error().code, ErrorCode::data_loss);
}

TEST(UnixSockets, LiveInDirectoriesLongerThanASocketAddress) {
    const TempDir dir;
    const std::string deep = dir.path() + "/" + std::string(200, 'x');
    std::filesystem::create_directory(deep);
    EXPECT_EQ(connect_in(deep, "s").error().code, ErrorCode::not_found);
    const Result<UniqueFd> listener = listen_in(deep, "s");
    ASSERT_TRUE(listener.ok());
    EXPECT_FALSE(accept_connection(listener->get()).has_value());
    Result<UniqueFd> client = connect_in(deep, "s");
    ASSERT_TRUE(client.ok());
    auto server = accept_connection(listener->get());
    ASSERT_TRUE(server.has_value());

    LineConnection left(std::move(*client));
    LineConnection right(std::move(*server));
    EXPECT_TRUE(left.write_line("one", Seconds{1}).ok());
    EXPECT_TRUE(left.write_line("two", Seconds{1}).ok());
    EXPECT_EQ(*right.wait_line(Seconds{5}), "one");
    EXPECT_EQ(*right.wait_line(Seconds{5}), "two");
    EXPECT_EQ(right.wait_line(Seconds{0.01}).error().code, ErrorCode::deadline_exceeded);
    left.close();
    EXPECT_EQ(right.wait_line(Seconds{5}).error().code, ErrorCode::unavailable);
}

TEST(UnixSockets, APeerThatDoesNotReadDoesNotBlockAWriterForever) {
    const TempDir dir;
    const Result<UniqueFd> listener = listen_in(dir.path(), "s");
    LineConnection client(std::move(*connect_in(dir.path(), "s")));
    const std::string line(1 << 20, 'x');
    EXPECT_EQ(client.write_line(line, Seconds{0.02}).error().code, ErrorCode::deadline_exceeded);
}

}  // namespace
}  // namespace rm
