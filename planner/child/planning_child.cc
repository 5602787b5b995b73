#include "planner/child/planning_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <span>
#include <stdexcept>

#include "base/check.h"
#include "base/os/unique_fd.h"
#include "planner/child/planning_messages.h"
#include "planner/search/choose_shape.h"
#include "service/log.h"

extern char** environ;

namespace rm {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kOutOfMemory = 3;  // the child's exit code

Error os_failed(std::string_view what) {
    return make_error(ErrorCode::internal, "cannot {}: {}", what, std::strerror(errno));
}

// Writes to a file in memory rather than a pipe: no thread has to write while the child reads.
Status fill(int file, std::string_view bytes) {
    const bool written = write_all(file, std::as_bytes(std::span(bytes)));
    if (written && ::lseek(file, 0, SEEK_SET) == 0) return {};
    return os_failed("hand the snapshot over");
}

// RAII over the two C objects of posix_spawn.
class Settings {
public:
    Settings(int input, int output) {
        RM_CHECK(posix_spawn_file_actions_init(&actions_) == 0, "no memory for spawning");
        RM_CHECK(posix_spawnattr_init(&attributes_) == 0, "no memory for spawning");
        posix_spawn_file_actions_adddup2(&actions_, input, 0);
        posix_spawn_file_actions_adddup2(&actions_, output, 1);
        posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    ~Settings() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    Settings(const Settings&) = delete;
    Settings& operator=(const Settings&) = delete;

    Result<pid_t> spawn(std::vector<std::string> argv) const {
        std::vector<char*> words;
        for (std::string& word : argv)
            words.push_back(word.data());
        words.push_back(nullptr);
        pid_t pid = 0;
        const int failed =
            posix_spawn(&pid, words[0], &actions_, &attributes_, words.data(), environ);
        if (failed == 0) return pid;
        return make_error(ErrorCode::internal, "cannot start {}: {}", argv[0],
                          std::strerror(failed));
    }

private:
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

// Owns a child process and always reaps it.
class Child {
public:
    explicit Child(pid_t pid) : pid_(pid) {}
    ~Child() {
        if (pid_ == 0) return;
        ::kill(-pid_, SIGKILL);  // and its children
        wait();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int wait() {
        int status = 0;
        while (::waitpid(std::exchange(pid_, 0), &status, 0) < 0 && errno == EINTR) {
        }
        return status;
    }

private:
    pid_t pid_;
};

// Reads until the other end is closed.
Result<std::string> read_until(int pipe, SteadyClock::time_point deadline) {
    std::string bytes;
    char part[65536];
    while (true) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
        pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
        const int count = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count()));
        if (count == 0) return make_error(ErrorCode::deadline_exceeded, "no answer");
        if (count < 0 && errno == EINTR) continue;
        const ssize_t size = ::read(pipe, part, sizeof part);
        if (size < 0) return os_failed("read the decisions");
        if (size == 0) return bytes;
        bytes.append(part, usize(size));
    }
}

Status check_end(int status, Bytes memory) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
        return make_error(ErrorCode::resource_exhausted, "{} of memory were not enough", memory);
    }
    if (WIFSIGNALED(status)) {
        return make_error(ErrorCode::internal, "it was ended by signal {} ({})", WTERMSIG(status),
                          ::strsignal(WTERMSIG(status)));
    }
    return make_error(ErrorCode::internal, "it exited with code {}", WEXITSTATUS(status));
}

Status check_complete(const std::vector<PlanDecision>& decisions,
                      const PlanningSnapshot& snapshot) {
    if (decisions.size() == snapshot.pending.size()) return {};
    return make_error(ErrorCode::internal, "it decided on {} of {} jobs", decisions.size(),
                      snapshot.pending.size());
}

// Runs the command, sends it the snapshot and returns what it answers.
Result<std::string> ask_child(const std::vector<std::string>& command,
                              const PlanningSnapshot& snapshot, const PlanningLimits& limits) {
    const auto deadline =
        SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                 std::chrono::duration<double>(limits.timeout.value));
    const UniqueFd input(::memfd_create("planning", MFD_CLOEXEC));
    if (!input) return os_failed("make a file for the snapshot");
    RM_RETURN_IF_ERROR(fill(input.get(), pack(snapshot)));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_failed("make a pipe");
    const UniqueFd answers(ends[0]);
    UniqueFd output(ends[1]);

    std::vector<std::string> argv = command;
    argv.push_back(std::to_string(limits.memory.value));
    RM_TRY(const pid_t pid, Settings(input.get(), output.get()).spawn(std::move(argv)));
    Child child(pid);
    output.reset();
    Result<std::string> bytes = read_until(answers.get(), deadline);
    if (!bytes && bytes.error().code == ErrorCode::deadline_exceeded) {
        return make_error(ErrorCode::deadline_exceeded, "it took longer than {}", limits.timeout);
    }
    RM_RETURN_IF_ERROR(bytes);
    RM_RETURN_IF_ERROR(check_end(child.wait(), limits.memory));
    return bytes;
}

std::string answer(const PlanningSnapshot& snapshot) {
    if (snapshot.recorded) return pack(detail_of(snapshot));
    return pack(plan_jobs_with(snapshot, choose_shape));
}

bool is_too_much(const Error& error) {
    return error.code == ErrorCode::deadline_exceeded ||
           error.code == ErrorCode::resource_exhausted;
}

}  // namespace

int run_planning_child(Bytes memory) {
    const rlimit limit{static_cast<rlim_t>(memory.value), static_cast<rlim_t>(memory.value)};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
        const std::string input(std::istreambuf_iterator<char>(std::cin), {});
        const Result<PlanningSnapshot> snapshot = unpack_snapshot(input);
        if (!snapshot) {
            std::fprintf(stderr, "planning: %s\n", snapshot.error().message.c_str());
            return 1;
        }
        std::cout << answer(*snapshot) << std::flush;
        return std::cout ? 0 : 1;
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "planning: %s\n", failure.what());
        return 1;
    }
}

Result<std::vector<PlanDecision>> plan_in_child(const std::vector<std::string>& command,
                                                const PlanningSnapshot& snapshot,
                                                const PlanningLimits& limits) {
    RM_TRY(const std::string bytes, ask_child(command, snapshot, limits));
    RM_TRY(std::vector<PlanDecision> decisions, unpack_decisions(bytes));
    RM_RETURN_IF_ERROR(check_complete(decisions, snapshot));
    return decisions;
}

Planner make_planner(std::vector<std::string> command, PlanningLimits limits) {
    if (command.empty()) {
        return
            [](const PlanningSnapshot& snapshot) { return plan_jobs_with(snapshot, choose_shape); };
    }
    return [command = std::move(command), limits](const PlanningSnapshot& snapshot) {
        auto decisions = plan_in_child(command, snapshot, limits);
        if (!decisions && is_too_much(decisions.error()) && !snapshot.advise) {
            log_event(LogLevel::warning, "planned_without_search",
                      {{"jobs", snapshot.pending.size()}, {"reason", decisions.error().message}});
            PlanningSnapshot simple = snapshot;
            simple.by_rule = true;
            decisions = plan_in_child(command, simple, limits);
        }
        if (!decisions) throw std::runtime_error(decisions.error().message);
        return *std::move(decisions);
    };
}

PlanDetailer make_detailer(std::vector<std::string> command, PlanningLimits limits) {
    using Detail = Result<ringmaster::v1::PlanningDetail>;
    if (command.empty()) {
        return [](const PlanningSnapshot& snapshot) -> Detail {
            return to_proto(detail_of(snapshot));
        };
    }
    return [command = std::move(command), limits](const PlanningSnapshot& snapshot) -> Detail {
        auto bytes = ask_child(command, snapshot, limits);
        if (!bytes && is_too_much(bytes.error())) {
            log_event(LogLevel::warning, "detailed_without_search",
                      {{"job", snapshot.pending.front().id}, {"reason", bytes.error().message}});
            PlanningSnapshot simple = snapshot;
            simple.by_rule = true;
            bytes = ask_child(command, simple, limits);
        }
        RM_RETURN_IF_ERROR(bytes);
        return unpack_detail(*bytes);
    };
}

}  // namespace rm
