#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rm {

// One process that `up` started: dies with it, in a process group of its own (so that Ctrl-C in the
// terminal reaches only `up`), stdout and stderr appended to a log file. The destructor kills the
// process if it is still running.
class DaemonProcess {
public:
    struct Command {
        std::string name;               // controller, worker-0, ...
        std::vector<std::string> argv;  // argv[0] is the program's path
        std::string log_file;
    };

    // Call this on a thread that lives as long as the daemon should: the tie is to the thread.
    static Result<DaemonProcess> start(const Command& command);
    ~DaemonProcess();
    DaemonProcess(DaemonProcess&& other) noexcept;
    DaemonProcess& operator=(DaemonProcess&& other) = delete;

    const std::string& name() const { return name_; }
    pid_t pid() const { return pid_; }
    // How the process ended ("exit code 1", "signal 9"), once it has.
    std::optional<std::string> ended();
    void signal(int number);
    // The end of this run's log, for an error message.
    std::string last_words() const;

private:
    DaemonProcess(const Command& command, pid_t pid, off_t log_start)
        : name_(command.name), log_file_(command.log_file), pid_(pid), log_start_(log_start) {}

    std::string name_;
    std::string log_file_;
    pid_t pid_ = 0;
    off_t log_start_ = 0;
    std::optional<std::string> end_;
};

// `name` in the directory of this executable; the error names the directory.
Result<std::string> program_beside_this(const std::string& name);

// How a process made by `up` is tied to it: posix_spawn cannot set PR_SET_PDEATHSIG and fork is not
// allowed beside gRPC's threads, so `up` spawns `ringmaster __child PARENT PROGRAM ARGS...`, which
// ties itself and becomes the program. The tie survives execve.
constexpr const char* kChildVerb = "__child";

// Arranges for SIGTERM at the death of the parent with pid argv[0], then becomes argv[1]. Returns
// only on failure: the exit code, after a message on stderr.
int run_child(int argc, char** argv);

}  // namespace rm
