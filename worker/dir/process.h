#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace rm {

// Identifies a process of this machine since boot: pids are reused, the pair is not.
struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat
    bool operator==(const ProcessId&) const = default;
};

// NOT_FOUND when there is no such process.
Result<ProcessId> process_id(pid_t pid);
// The process exists, is the same one, and has not ended (a zombie has).
bool is_running(const ProcessId& process);
// The process is running, but stopped by a signal or a debugger.
bool is_suspended(const ProcessId& process);

std::string boot_id();  // changes with every boot of the machine

// Whether the new process leads a session or a process group.
enum class Leads { session, process_group };

// The file descriptor on which every process of an attempt holds its live lock (live_lock.h).
constexpr int kLiveLockFd = 3;

struct SpawnRequest {
    std::vector<std::string> argv;  // argv[0] is a path
    std::string output;             // stdout and stderr are appended to it
    Leads leads = Leads::process_group;
    int live_lock = -1;  // passed on as kLiveLockFd; nothing else is inherited
    // Blocked in the new process until it has installed a handler, so that an early signal stays
    // pending. 0: none.
    int blocked_signal = 0;
};
// posix_spawn with default signals, no other signal blocked, and no input.
Result<pid_t> spawn(const SpawnRequest& request);

}  // namespace rm
