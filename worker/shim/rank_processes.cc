#include "worker/shim/rank_processes.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "worker/dir/files.h"
#include "worker/dir/progress_file.h"

namespace rm {
namespace {

constexpr std::int64_t kLongestWords = 4096;
constexpr std::int64_t kLogTail = 1024;
// Space reserved for an exit file, so that a full disk does not hide how a rank ended. A byte of
// words takes at most six in JSON.
constexpr std::int64_t kExitRoom = 8192;
constexpr std::size_t kWordsInRoom = 1200;

// Reads a process's end and leaves it a zombie, so that its pid and its group stay reserved.
bool has_ended(pid_t pid, ExitFile& exit) {
    siginfo_t facts{};
    const int failed = ::waitid(P_PID, static_cast<id_t>(pid), &facts, WEXITED | WNOHANG | WNOWAIT);
    if (failed != 0 || facts.si_pid == 0) return false;
    (facts.si_code == CLD_EXITED ? exit.code : exit.signal) = facts.si_status;
    return true;
}

std::string signal_words(int signal) {
    const char* name = ::sigabbrev_np(signal);
    return format("ended by signal {} (SIG{})", signal, name == nullptr ? "?" : name);
}

}  // namespace

void RankProcesses::start_all(int live_lock, const Clock& clock) {
    for (const RankLaunch& launch : attempt_.ranks) {
        const Result<ProcessId> process = start(launch.rank, live_lock);
        if (process) {
            running_.push_back({launch.rank, *process});
        } else {
            write_exit(launch.rank, {.code = kRankNotStarted, .words = process.error().message},
                       clock);
        }
    }
}

Result<ProcessId> RankProcesses::start(int rank, int live_lock) const {
    // Do this first: if the disk has no room for more, the exit file can still say so.
    RM_RETURN_IF_ERROR(make_room(dir_.exit_room(rank), kExitRoom));
    RM_RETURN_IF_ERROR(ProgressFile::create(dir_.progress(rank)));
    SpawnRequest request{.argv = attempt_.rank_command,
                         .output = dir_.log(rank),
                         .leads = Leads::process_group,
                         .live_lock = live_lock,
                         .blocked_signal = SIGTERM};
    request.argv.push_back(dir_.path());
    request.argv.push_back(format("{}", rank));
    RM_TRY(const pid_t pid, spawn(request));
    return process_id(pid);
}

std::vector<int> RankProcesses::reap(const Clock& clock, const std::string& kill_reason) {
    std::vector<int> ended;
    std::vector<ShimFile::Rank> left;
    for (const ShimFile::Rank& rank : running_) {
        const pid_t pid = rank.process.pid;
        ExitFile exit;
        if (!has_ended(pid, exit)) {
            left.push_back(rank);
            continue;
        }
        ::kill(-pid, SIGKILL);  // whatever it started
        ::waitpid(pid, nullptr, 0);
        if (exit.signal != 0) {
            explain_signal(exit, kill_reason);
        }
        write_exit(rank.rank, std::move(exit), clock);
        ended.push_back(rank.rank);
    }
    running_ = std::move(left);
    return ended;
}

void RankProcesses::explain_signal(ExitFile& exit, const std::string& kill_reason) const {
    exit.words = signal_words(exit.signal);
    if (exit.signal == SIGKILL && !kill_reason.empty()) {
        exit.words += ": " + kill_reason;
    } else if (exit.signal == SIGKILL && oom_kills_.have_risen()) {
        exit.code = kRankOutOfMemory;
        exit.words = "killed by the kernel, which had no memory left for it";
    } else {
        // The shim did not kill this rank: its end may be the reason for a stop.
        exit.code = kRankFailed;
    }
}

void RankProcesses::write_exit(int rank, ExitFile exit, const Clock& clock) const {
    exit.mono_nanos = clock.mono().nanos;
    const bool as_asked =
        exit.signal == 0 && (exit.code == kRankFinished || exit.code == kRankStopped);
    if (!as_asked) {
        const std::string own = last_words_of(rank, exit.signal);
        if (!own.empty()) exit.words += (exit.words.empty() ? "" : ": ") + own;
        if (exit.words.empty())
            exit.words = format("exit code {}, without an error message", exit.code);
    }
    Status written = replace_text_file(dir_.exit(rank), to_json(exit));
    if (!written) {
        exit.words.resize(std::min(exit.words.size(), kWordsInRoom));
        written = write_into_room(dir_.exit_room(rank), dir_.exit(rank), to_json(exit));
    }
    if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
}

// The end of the log says why a process ended itself. For a process killed from outside, it only
// shows the last steps.
std::string RankProcesses::last_words_of(int rank, int signal) const {
    std::string words = tail_of_file(dir_.last_words(rank), kLongestWords);
    const bool from_outside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT ||
                              signal == SIGHUP || signal == SIGQUIT;
    return words.empty() && !from_outside ? tail_of_file(dir_.log(rank), kLogTail) : words;
}

void RankProcesses::signal_all(int signal) const {
    for (const ShimFile::Rank& rank : running_)
        ::kill(-rank.process.pid, signal);
}

}  // namespace rm
