#include "tests/load/controller_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"

namespace rm::load {
namespace {

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts)
        list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> environment(const ControllerOptions& options) {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry)
        entries.emplace_back(*entry);
    if (options.fsync_delay.value > 0) {
        entries.emplace_back(std::string("LD_PRELOAD=") + RM_SLOW_DISK);
        entries.push_back(
            format("RM_FSYNC_DELAY_US={}", static_cast<long>(options.fsync_delay.value * 1e6)));
    }
    return entries;
}

pid_t spawn(const ControllerOptions& options) {
    std::vector<std::string> arguments = {RM_CONTROLLER, "--state", options.state_dir, "--listen",
                                          "127.0.0.1:0", "--http",  options.http};
    arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
    std::vector<std::string> variables = environment(options);
    const std::string log = options.state_dir + ".log";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    pid_t pid = 0;
    const int failed = posix_spawn(&pid, RM_CONTROLLER, &actions, nullptr,
                                   pointers(arguments).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    RM_CHECK(failed == 0, "cannot start {}", RM_CONTROLLER);
    return pid;
}

// The n-th number after `name` in a file of /proc.
long number_in(const std::string& text, const std::string& name) {
    const std::size_t at = text.find(name);
    RM_CHECK(at != std::string::npos, "/proc has no {}", name);
    return std::strtol(text.c_str() + at + name.size(), nullptr, 10);
}

// The string that begins right after `name`; empty: there is none.
std::string quoted_after(const std::string& json, const std::string& name) {
    const std::size_t at = json.find(name + "\"");
    if (at == json.npos) return "";
    const std::size_t begin = at + name.size() + 1;
    return json.substr(begin, json.find('"', begin) - begin);
}

}  // namespace

ControllerProcess::ControllerProcess(const ControllerOptions& options)
    : info_file_(options.state_dir + "/controller.json") {
    std::remove(info_file_.c_str());
    pid_ = spawn(options);
    wait_until_it_listens();
}

ControllerProcess::~ControllerProcess() {
    if (pid_ != 0) stop(SIGTERM);
}

void ControllerProcess::wait_until_it_listens() {
    for (int i = 0; i < 12'000; ++i) {
        const std::string info = contents(info_file_);
        address_ = quoted_after(info, "\"grpc\":[");
        http_ = quoted_after(info, "\"http\":");
        if (!address_.empty()) return;
        RM_CHECK(::waitpid(pid_, nullptr, WNOHANG) == 0, "the controller has ended; see its log");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    RM_CHECK(false, "the controller does not listen after two minutes");
}

ProcessUse ControllerProcess::use() const {
    const std::string proc = format("/proc/{}/", pid_);
    const std::string stat = contents(proc + "stat");
    // After the name in parentheses: state is field 3, utime and stime are 14 and 15.
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string skipped;
    for (int field = 3; field < 14; ++field)
        fields >> skipped;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    const std::string status = contents(proc + "status");
    return {
        Seconds{static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK))},
        Bytes{number_in(status, "VmRSS:") * 1024}, static_cast<int>(number_in(status, "Threads:"))};
}

int ControllerProcess::stop(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
}

}  // namespace rm::load
