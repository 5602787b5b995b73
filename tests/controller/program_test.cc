#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
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
    pid_t pid() const { return pid_; }
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

bool wait_for_words(const Program& program, const std::string& words) {
    for (int i = 0; i < 2000; ++i) {
        if (program.errors().find(words) != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

rlim_t num_descriptors(pid_t pid) {
    const std::filesystem::directory_iterator open(format("/proc/{}/fd", pid));
    return static_cast<rlim_t>(std::distance(begin(open), end(open)));
}

// Idle connections.
class Strangers {
public:
    Strangers(const std::string& path, int count) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        std::copy(path.begin(), path.end(), address.sun_path);
        for (int i = 0; i < count; ++i) {
            const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            sockets_.push_back(fd);
            if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
        }
    }
    ~Strangers() {
        for (const int fd : sockets_)
            ::close(fd);
    }

private:
    std::vector<int> sockets_;
};

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

TEST(Program, RaisesItsLimitOfOpenFilesAndKeepsItsFilesToItself) {
    TempDir directory;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{256, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const mode_t mask = ::umask(0);
    const std::string socket = directory.file("c.sock");
    Program program(directory, {"--state", directory.file("state"), "--listen", "unix:" + socket,
                                "--http", "none"});
    ::umask(mask);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_TRUE(wait_for_file(directory.file("state/controller.json"))) << program.errors();
    rlimit its{};
    ASSERT_EQ(::prlimit(program.pid(), RLIMIT_NOFILE, nullptr, &its), 0);
    EXPECT_EQ(its.rlim_cur, before.rlim_max);
    for (const std::string& path : {directory.file("state/control.db"), socket}) {
        struct stat its_own {};
        ASSERT_EQ(::stat(path.c_str(), &its_own), 0) << path;
        EXPECT_EQ(its_own.st_mode & 0077, 0u) << path;
    }
    EXPECT_EQ(program.stop(SIGTERM), 0);
}

TEST(Program, EndsAndSaysWhatToDoWhenNoConnectionIsAcceptedAnyMore) {
    TempDir directory;
    const std::string socket = directory.file("c.sock");
    Program program(directory, {"--state", directory.file("state"), "--listen", "unix:" + socket,
                                "--http", "none"});
    ASSERT_TRUE(wait_for_file(directory.file("state/controller.json"))) << program.errors();
    const rlim_t limit = num_descriptors(program.pid()) + 4;
    const rlimit few{limit, limit};
    ASSERT_EQ(::prlimit(program.pid(), RLIMIT_NOFILE, &few, nullptr), 0);
    const Strangers strangers(socket, 64);
    ASSERT_TRUE(wait_for_words(program, "LimitNOFILE=")) << program.errors();
    EXPECT_EQ(program.wait(), 1);
    const std::string errors = program.errors();
    EXPECT_NE(errors.find(" fatal "), std::string::npos) << errors;
    EXPECT_NE(errors.find("Too many open files"), std::string::npos) << errors;
    EXPECT_NE(errors.find(format("more than {} open files", limit)), std::string::npos) << errors;
}

TEST(Program, WarnsWhereEveryUserIsAnAdminOfWhatRootRuns) {
    const std::string warning = "open_to_all_users address=127.0.0.1:";
    const bool is_root = ::geteuid() == 0;
    const auto said = [](const std::string& listen) {
        TempDir directory;
        Program program(directory, {"--state", directory.file("state"), "--listen",
                                    listen.empty() ? "unix:" + directory.file("c.sock") : listen,
                                    "--http", "none"});
        EXPECT_TRUE(wait_for_file(directory.file("state/controller.json"))) << program.errors();
        EXPECT_EQ(program.stop(SIGTERM), 0);
        return program.errors();
    };
    const std::string plain = said("127.0.0.1:0");
    EXPECT_EQ(plain.find(warning) != std::string::npos, is_root) << plain;
    const std::string socket = said("");
    EXPECT_EQ(socket.find("open_to_all_users"), std::string::npos) << socket;
}

TEST(Program, RefusesAddressesBeyondLoopback) {
    TempDir directory;
    Program program(directory, {"--state", directory.file("state"), "--listen", "0.0.0.0:7070"});
    EXPECT_EQ(program.wait(), 2);
    EXPECT_NE(program.errors().find("0.0.0.0"), std::string::npos) << program.errors();
}

// `ringmaster restore` execs this program, but its user has typed only that name.
TEST(Program, SpeaksAsRingmasterWhereItRestores) {
    TempDir directory;
    Program program(directory, {"--state", directory.file("state"), "--restore",
                                directory.file("no-backup.db")});
    EXPECT_NE(program.wait(), 0);
    EXPECT_NE(program.errors().find("no-backup.db"), std::string::npos) << program.errors();
    EXPECT_EQ(program.errors().rfind("ringmaster: ", 0), 0u) << program.errors();
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
