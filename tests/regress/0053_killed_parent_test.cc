// The ranks of a killed ring-train kept training.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "base/format.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

extern char** environ;

namespace rm {
namespace {

namespace fs = std::filesystem;

std::string command_line(const fs::path& process) {
    std::ifstream file(process / "cmdline", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Ranks of this configuration, by their command lines; a zombie has none.
std::set<pid_t> ranks_of(const std::string& config) {
    std::set<pid_t> pids;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string words = command_line(entry.path());
        if (words.find(config) != std::string::npos && words.find("--rank") != std::string::npos)
            pids.insert(std::stoi(name));
    }
    return pids;
}

template <typename Condition>
bool comes_true(Condition condition) {
    for (int i = 0; i < 300; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
}

TEST(Regress0053, RanksDieWithTheRingTrainThatStartedThem) {
    TempDir dir;
    dir.write("data/a.txt", test::some_text(1, 600));
    const std::string config = dir.file("config.json");
    dir.write("config.json",
              R"({"name": "x", "model": {"preset": "micro"}, "parallel": {"ring": 2},
                  "memory": {"tile": 64}, "evaluation": {"tokens": 0},
                  "engine": {"ranks": "processes", "threads_per_rank": 1},
                  "data": {"path": ")" +
                  dir.file("data") +
                  R"("}, "stages": [{"context": 128, "batch": 128, "tokens": 128000000}]})");
    const std::string metrics = dir.file("out.txt");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, metrics.c_str(), O_WRONLY | O_CREAT, 0600);
    std::string program = RM_RING_TRAIN;
    std::string argument = config;
    char* const argv[] = {program.data(), argument.data(), nullptr};
    pid_t parent = -1;
    ASSERT_EQ(::posix_spawn(&parent, program.c_str(), &actions, nullptr, argv, environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    EXPECT_TRUE(comes_true([&] { return fs::exists(metrics) && fs::file_size(metrics) > 200; }))
        << "it does not train";
    EXPECT_EQ(ranks_of(config).size(), 2u);
    ::kill(parent, SIGKILL);
    int status = 0;
    ::waitpid(parent, &status, 0);
    EXPECT_TRUE(comes_true([&] { return ranks_of(config).empty(); }));
    for (const pid_t pid : ranks_of(config))
        ::kill(pid, SIGKILL);
}

}  // namespace
}  // namespace rm
