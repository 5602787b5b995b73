#include "cli/up/daemon.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rm {
namespace {

constexpr off_t kLastWords = 1500;  // bytes

// The settings of posix_spawn, released at the end of the scope.
class SpawnSettings {
public:
    explicit SpawnSettings(const std::string& log_file) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log_file.c_str(),
                                         O_WRONLY | O_CREAT | O_APPEND, 0600);
        posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
        posix_spawnattr_init(&attributes_);
        posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attributes_, 0);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes_, &none);
        sigset_t all;
        sigfillset(&all);
        posix_spawnattr_setsigdefault(&attributes_, &all);
    }
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

std::string own_path() {
    std::error_code failure;
    return std::filesystem::read_symlink("/proc/self/exe", failure).string();
}

off_t size_of(const std::string& path) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 ? file.st_size : 0;
}

std::string end_text(int status) {
    if (WIFSIGNALED(status)) return format("signal {}", WTERMSIG(status));
    return format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

Result<DaemonProcess> DaemonProcess::start(const Command& command) {
    std::vector<std::string> arguments = {own_path(), kChildVerb, std::to_string(getpid())};
    arguments.insert(arguments.end(), command.argv.begin(), command.argv.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    const off_t log_start = size_of(command.log_file);
    const SpawnSettings settings(command.log_file);
    pid_t pid = 0;
    const int failure = posix_spawn(&pid, arguments[0].c_str(), &settings.actions_,
                                    &settings.attributes_, argv.data(), environ);
    if (failure == 0) return DaemonProcess(command, pid, log_start);
    return make_error(ErrorCode::internal, "{} could not be started: {}", command.name,
                      std::strerror(failure));
}

DaemonProcess::~DaemonProcess() {
    if (pid_ == 0 || ended()) return;
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
}

DaemonProcess::DaemonProcess(DaemonProcess&& other) noexcept
    : name_(std::move(other.name_)),
      log_file_(std::move(other.log_file_)),
      pid_(std::exchange(other.pid_, 0)),
      log_start_(other.log_start_),
      end_(std::move(other.end_)) {}

std::optional<std::string> DaemonProcess::ended() {
    if (end_) return end_;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) end_ = end_text(status);
    return end_;
}

void DaemonProcess::signal(int number) {
    if (!ended()) kill(pid_, number);
}

std::string DaemonProcess::last_words() const {
    std::ifstream log(log_file_);
    log.seekg(std::max(log_start_, size_of(log_file_) - kLastWords));
    std::string words((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    while (!words.empty() && words.back() == '\n')
        words.pop_back();
    return words.empty() ? format("(nothing in {})", log_file_) : words;
}

Result<std::string> program_beside_this(const std::string& name) {
    const std::string path = (std::filesystem::path(own_path()).parent_path() / name).string();
    if (access(path.c_str(), X_OK) == 0) return path;
    return make_error(ErrorCode::internal, "{} must be beside this program, at {}: {}", name, path,
                      std::strerror(errno));
}

int run_child(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "%s PARENT PROGRAM ARGS...: called by `ringmaster up` only\n",
                     kChildVerb);
        return 2;
    }
    const long parent = std::strtol(argv[0], nullptr, 10);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) {
        std::fprintf(stderr, "PR_SET_PDEATHSIG: %s\n", std::strerror(errno));
        return 1;
    }
    if (getppid() != parent) return 0;  // the parent died before prctl()
    execv(argv[1], argv + 1);
    std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno));
    return 127;
}

}  // namespace rm
