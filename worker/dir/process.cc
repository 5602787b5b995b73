#include "worker/dir/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <cerrno>
#include <charconv>
#include <sstream>

#include "base/check.h"
#include "worker/dir/files.h"

extern char** environ;

namespace rm {
namespace {

struct ProcessStat {
    char state = 0;
    std::uint64_t start_ticks = 0;
};

Result<ProcessStat> read_process_stat(pid_t pid) {
    RM_TRY(const std::string text, read_text_file(format("/proc/{}/stat", pid)));
    // The name in parentheses may hold blanks and parentheses; fields are counted after the last
    // one.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return make_error(ErrorCode::internal, "/proc/{}/stat reads '{}'", pid, text);
    }
    std::istringstream fields(text.substr(name_end + 1));
    ProcessStat stat;
    std::string skipped;
    fields >> stat.state;
    for (int field = 4; field <= 21; ++field)
        fields >> skipped;
    fields >> stat.start_ticks;
    return stat;
}

// The state letter of /proc/<pid>/stat; 0: the process is gone.
char state_of(const ProcessId& process) {
    const Result<ProcessStat> stat = read_process_stat(process.pid);
    return stat && stat->start_ticks == process.start_ticks ? stat->state : '\0';
}

// RAII over the two C objects of posix_spawn.
class SpawnSettings {
public:
    explicit SpawnSettings(const SpawnRequest& request) {
        RM_CHECK(posix_spawn_file_actions_init(&actions_) == 0, "no memory for spawning");
        RM_CHECK(posix_spawnattr_init(&attributes_) == 0, "no memory for spawning");
        set_files(request);
        set_signals(request);
    }
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    const posix_spawn_file_actions_t* actions() const { return &actions_; }
    const posix_spawnattr_t* attributes() const { return &attributes_; }

private:
    void set_files(const SpawnRequest& request) {
        posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions_, 1, request.output.c_str(),
                                         O_WRONLY | O_CREAT | O_APPEND, 0600);
        posix_spawn_file_actions_adddup2(&actions_, 1, 2);
        int first_closed = kLiveLockFd;
        if (request.live_lock >= 0) {
            posix_spawn_file_actions_adddup2(&actions_, request.live_lock, kLiveLockFd);
            first_closed = kLiveLockFd + 1;
        }
        posix_spawn_file_actions_addclosefrom_np(&actions_, first_closed);
    }

    void set_signals(const SpawnRequest& request) {
        sigset_t set;
        sigemptyset(&set);
        if (request.blocked_signal != 0) sigaddset(&set, request.blocked_signal);
        posix_spawnattr_setsigmask(&attributes_, &set);
        sigfillset(&set);
        posix_spawnattr_setsigdefault(&attributes_, &set);
        short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        switch (request.leads) {
            case Leads::session:
                flags |= POSIX_SPAWN_SETSID;
                break;
            case Leads::process_group:
                flags |= POSIX_SPAWN_SETPGROUP;
                posix_spawnattr_setpgroup(&attributes_, 0);
                break;
        }
        posix_spawnattr_setflags(&attributes_, flags);
    }

    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

}  // namespace

Result<ProcessId> process_id(pid_t pid) {
    RM_TRY(const ProcessStat stat, read_process_stat(pid));
    return ProcessId{pid, stat.start_ticks};
}

bool is_running(const ProcessId& process) {
    const char state = state_of(process);
    return state != 0 && state != 'Z' && state != 'X';
}

bool is_suspended(const ProcessId& process) {
    const char state = state_of(process);
    return state == 'T' || state == 't';
}

std::string boot_id() {
    const Result<std::string> text = read_text_file("/proc/sys/kernel/random/boot_id");
    return text ? text->substr(0, text->find('\n')) : std::string();
}

Result<pid_t> spawn(const SpawnRequest& request) {
    RM_CHECK(!request.argv.empty(), "nothing to spawn");
    const SpawnSettings settings(request);
    std::vector<char*> argv;
    for (const std::string& argument : request.argv) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    pid_t pid = 0;
    const int failed =
        posix_spawn(&pid, argv[0], settings.actions(), settings.attributes(), argv.data(), environ);
    if (failed != 0) return system_error("cannot start", request.argv[0], failed);
    return pid;
}

}  // namespace rm
