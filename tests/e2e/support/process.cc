#include "tests/e2e/support/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/check.h"
#include "base/format.h"

namespace rm::e2e {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> list;
    for (std::string& word : words)
        list.push_back(word.data());
    list.push_back(nullptr);
    return list;
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                 const std::string& output_prefix)
    : output_prefix_(output_prefix) {
    std::vector<std::string> words = argv;
    std::vector<std::string> variables = environment;
    for (char** entry = environ; *entry != nullptr; ++entry)
        variables.emplace_back(*entry);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 1, (output_prefix + ".out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, (output_prefix + ".err").c_str(), flags, 0600);
    const int failure = posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr,
                                    pointers(words).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    RM_CHECK(failure == 0, "{} could not be started: error {}", argv[0], failure);
}

Process::~Process() {
    if (code_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
    if (!code_) kill(pid_, number);
}

std::optional<int> Process::wait(Seconds limit) {
    wait_until(limit, [this] {
        int status = 0;
        if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
            code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        return code_.has_value();
    });
    return code_;
}

std::string Process::out() const {
    return read_file(output_prefix_ + ".out");
}

std::string Process::err() const {
    return read_file(output_prefix_ + ".err");
}

Seconds chosen_delay() {
    const char* text = std::getenv("RM_KILL_DELAY");
    return {text == nullptr ? 0.0 : std::atof(text)};
}

void sleep(Seconds time) {
    std::this_thread::sleep_for(std::chrono::duration<double>(time.value));
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::vector<pid_t> processes_marked(const std::string& marker) {
    std::vector<pid_t> found;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        if (read_file(entry.path() / "environ").find(marker) == std::string::npos) continue;
        found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
}

}  // namespace rm::e2e
