#include "service/state_dir.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace rm {
namespace {

mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
}

TEST(StateDir, IsMadePrivateWithItsParents) {
    const TempDir temp;
    const auto state = StateDir::open(temp.file("a/b/state/"));
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->path(), temp.file("a/b/state"));
    EXPECT_EQ(state->file("control.db"), temp.file("a/b/state/control.db"));
    EXPECT_EQ(mode_of(state->path()), 0700u);
}

TEST(StateDir, OneThatExistsIsClosedToOthers) {
    const TempDir temp;
    ASSERT_EQ(::mkdir(temp.file("state").c_str(), 0700), 0);
    ASSERT_EQ(::chmod(temp.file("state").c_str(), 0755), 0);  // as mkdir(1) leaves it
    ASSERT_TRUE(StateDir::open(temp.file("state")));
    EXPECT_EQ(mode_of(temp.file("state")), 0700u);
}

TEST(StateDir, ASecondDaemonIsRefusedAlsoWithoutTheLockFile) {
    const TempDir temp;
    const auto first = StateDir::open(temp.file("state"));
    ASSERT_TRUE(first);
    ASSERT_EQ(::unlink(first->file("lock").c_str()), 0);
    const auto second = StateDir::open(temp.file("state"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::failed_precondition);
}

TEST(StateDir, ASecondDaemonIsRefusedAndTheFirstNamed) {
    const TempDir temp;
    const auto first = StateDir::open(temp.file("state"));
    ASSERT_TRUE(first);
    const auto second = StateDir::open(temp.file("state"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::failed_precondition);
    EXPECT_EQ(second.error().message,
              format("the state directory {} is in use by process {}; stop it or name another "
                     "directory",
                     temp.file("state"), ::getpid()));
}

TEST(StateDir, IsFreeAgainWhenItsHolderGoes) {
    const TempDir temp;
    {
        auto held = StateDir::open(temp.file("state"));
        ASSERT_TRUE(held);
        const StateDir moved = *std::move(held);
        EXPECT_FALSE(StateDir::open(temp.file("state")));
    }
    EXPECT_TRUE(StateDir::open(temp.file("state")));
}

TEST(StateDir, IsNotHeldByTheChildrenOfItsHolder) {
    const TempDir temp;
    pid_t child = 0;
    {
        const auto held = StateDir::open(temp.file("state"));
        ASSERT_TRUE(held);
        char program[] = "/bin/sleep";
        char seconds[] = "20";
        char* const argv[] = {program, seconds, nullptr};
        ASSERT_EQ(::posix_spawn(&child, program, nullptr, nullptr, argv, nullptr), 0);
    }
    // The kernel closes the child's copy a moment after posix_spawn has returned.
    bool is_free = false;
    for (int i = 0; i < 200 && !is_free; ++i) {
        if (i > 0) ::usleep(10'000);
        is_free = static_cast<bool>(StateDir::open(temp.file("state")));
    }
    EXPECT_TRUE(is_free);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(StateDir, SomethingElseInItsPlaceIsAnError) {
    const TempDir temp;
    ASSERT_TRUE(write_file_atomically(temp.file("state"), "x"));
    const auto state = StateDir::open(temp.file("state"));
    ASSERT_FALSE(state);
    EXPECT_NE(state.error().message.find(temp.file("state")), std::string::npos);
    EXPECT_FALSE(StateDir::open(temp.file("state/below")));
    EXPECT_FALSE(StateDir::open(""));
}

TEST(SmallFile, IsReadAsItWasWritten) {
    const TempDir temp;
    const std::string path = temp.file("controller.json");
    const std::string contents("a\0b\n", 4);
    ASSERT_TRUE(write_file_atomically(path, "older and longer"));
    ASSERT_TRUE(write_file_atomically(path, contents));
    EXPECT_EQ(*read_small_file(path), contents);
    EXPECT_EQ(mode_of(path), 0600u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp.path()), {}), 1)
        << "a temporary file was left";
}

TEST(SmallFile, ErrorsNameThePath) {
    const TempDir temp;
    const auto missing = read_small_file(temp.file("none"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
    EXPECT_NE(missing.error().message.find(temp.file("none")), std::string::npos);
    EXPECT_EQ(write_file_atomically(temp.file("no/dir"), "x").error().code, ErrorCode::not_found);
    ASSERT_TRUE(write_file_atomically(temp.file("big"), std::string((1 << 20) + 1, 'x')));
    EXPECT_EQ(read_small_file(temp.file("big")).error().code, ErrorCode::out_of_range);
}

}  // namespace
}  // namespace rm
