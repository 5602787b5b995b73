#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

// The real executable: its flags, its exit codes, its end.
namespace rm::test {
namespace {

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

class Program {
public:
    Program(const TempDir& directory, std::vector<std::string> arguments)
        : errors_(directory.file("stderr")) {
        std::vector<char*> argv = {const_cast<char*>(RM_CONTROLLER)};
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors_.c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int failed =
            posix_spawn(&pid_, RM_CONTROLLER, &actions, nullptr, argv.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        RM_CHECK(failed == 0, "cannot start {}", RM_CONTROLLER);
    }
    ~Program() {
        if (pid_ == 0) return;
        ::kill(pid_, SIGKILL);
        wait();
    }
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    int stop(int signal) {
        ::kill(pid_, signal);
        return wait();
    }
    std::string errors() const { return contents(errors_); }

private:
    pid_t pid_ = 0;
    const std::string errors_;
};

bool wait_for_file(const std::string& path) {
    for (int i = 0; i < 1000; ++i) {
        if (::access(path.c_str(), R_OK) == 0) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

TEST(Program, SaysWhereItListensAndStopsCleanly) {
    TempDir directory;
    const std::string info = directory.file("state/controller.json");
    Program program(directory, {"--state", directory.file("state"), "--listen",
                                "unix:" + directory.file("c.sock"), "--listen", "127.0.0.1:0",
                                "--http", "127.0.0.1:0"});
    ASSERT_TRUE(wait_for_file(info)) << program.errors();
    const std::string text = contents(info);
    EXPECT_NE(text.find("\"grpc\":[\"unix:" + directory.file("c.sock") + "\",\"127.0.0.1:"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find(":0\""), std::string::npos) << text;
    EXPECT_EQ(program.stop(SIGTERM), 0);
    EXPECT_NE(::access(info.c_str(), R_OK), 0) << "it listens no more";
    EXPECT_EQ(program.errors().find(" error "), std::string::npos) << program.errors();
}

TEST(Program, RefusesAddressesBeyondLoopback) {
    TempDir directory;
    Program program(directory, {"--state", directory.file("state"), "--listen", "0.0.0.0:7070"});
    EXPECT_EQ(program.wait(), 1);
    EXPECT_NE(program.errors().find("0.0.0.0"), std::string::npos) << program.errors();
}

TEST(Program, NamesTheHolderOfItsStateDirectory) {
    TempDir directory;
    const std::vector<std::string> arguments = {
        "--state", directory.file("state"), "--listen", "127.0.0.1:0", "--http", "none"};
    Program first(directory, arguments);
    ASSERT_TRUE(wait_for_file(directory.file("state/controller.json")));
    Program second(directory, arguments);
    EXPECT_EQ(second.wait(), 1);
    EXPECT_NE(second.errors().find("state"), std::string::npos) << second.errors();
    EXPECT_EQ(first.stop(SIGINT), 0);
}

}  // namespace
}  // namespace rm::test
