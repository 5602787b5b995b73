#include "worker/dir/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/clock.h"
#include "worker/dir/files.h"
#include "worker/dir/process.h"

namespace rm {
namespace {

constexpr int kPollMillis = 20;
constexpr std::int64_t kLastWords = 1024;

std::optional<int> end_of(pid_t pid) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == 0) return std::nullopt;
    return status;
}

Status status_of(int end, const std::string& log) {
    if (WIFEXITED(end) && WEXITSTATUS(end) == 0) return {};
    const std::string how = WIFSIGNALED(end) ? format("signal {}", WTERMSIG(end))
                                             : format("exit code {}", WEXITSTATUS(end));
    const std::string words = tail_of_file(log, kLastWords);
    return make_error(ErrorCode::internal, "it ended with {}{}{}", how, words.empty() ? "" : ": ",
                      words);
}

Error kill_child(pid_t pid, ErrorCode code, const std::string& why) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return {code, why};
}

}  // namespace

Status run_child(const ChildWork& work) {
    const SystemClock clock;
    const MonoTime start = clock.mono();
    ::unlink(work.log.c_str());
    RM_TRY(const pid_t pid, spawn({.argv = work.argv, .output = work.log}));
    while (true) {
        if (const auto end = end_of(pid)) return status_of(*end, work.log);
        if (const std::string why = work.why_stopped(); !why.empty())
            return kill_child(pid, ErrorCode::cancelled, why);
        if (clock.mono() - start >= work.limit) {
            return kill_child(pid, ErrorCode::deadline_exceeded,
                              format("it has not ended after {}", work.limit));
        }
        ::poll(nullptr, 0, kPollMillis);
    }
}

}  // namespace rm
