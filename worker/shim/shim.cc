#include "worker/shim/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cmath>
#include <optional>
#include <vector>

#include "worker/dir/attempt_dir.h"
#include "worker/dir/files.h"
#include "worker/shim/control_server.h"
#include "worker/shim/rank_processes.h"
#include "worker/shim/stop_policy.h"

namespace rm {
namespace {

Result<UniqueFd> open_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT})
        sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    UniqueFd fd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!fd) return system_error("cannot make a", "signalfd", errno);
    return fd;
}

// True when the shim itself was asked to end.
bool take_signals(int fd) {
    bool asked = false;
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) {
        asked = asked || info.ssi_signo != SIGCHLD;
    }
    return asked;
}

class Shim {
public:
    Shim(AttemptDir dir, AttemptFile attempt, UniqueFd signals, UniqueFd listener)
        : dir_(std::move(dir)),
          attempt_(std::move(attempt)),
          signals_(std::move(signals)),
          control_(std::move(listener)),
          ranks_(dir_, attempt_),
          policy_(attempt_.orphan, clock_.mono()) {}

    Status run() {
        RM_RETURN_IF_ERROR(write_shim_file());
        ranks_.start_all(kLiveLockFd, clock_);
        RM_RETURN_IF_ERROR(write_shim_file());
        while (true) {
            for (const int rank : ranks_.reap(clock_, policy_.kill_reason())) {
                control_.announce_exit(rank);
            }
            if (!ranks_.any_left()) return {};
            act();
            wait();
            take_commands();
        }
    }

private:
    Status write_shim_file() const {
        RM_TRY(const ProcessId self, process_id(::getpid()));
        return replace_text_file(dir_.shim(), to_json(ShimFile{.epoch = attempt_.epoch,
                                                               .job = attempt_.job,
                                                               .shim = self,
                                                               .boot_id = boot_id(),
                                                               .ranks = ranks_.running()}));
    }

    void act() {
        switch (policy_.next(clock_.mono())) {
            case StopPolicy::Action::none:
                return;
            case StopPolicy::Action::terminate:
                return ranks_.signal_all(SIGTERM);
            case StopPolicy::Action::kill:
                return ranks_.signal_all(SIGKILL);
        }
    }

    void wait() const {
        std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0}};
        control_.add_to(entries);
        const std::optional<Seconds> limit = policy_.wait(clock_.mono());
        const int milliseconds = limit ? static_cast<int>(std::ceil(limit->value * 1e3)) : -1;
        ::poll(entries.data(), entries.size(), milliseconds);
    }

    void take_commands() {
        if (take_signals(signals_.get())) {
            policy_.stop(StopMode::graceful, attempt_.orphan.grace, clock_.mono());
        }
        for (const StopCommand& stop : control_.serve()) {
            policy_.stop(stop.mode, stop.grace, clock_.mono());
        }
        policy_.daemons_connected(control_.num_daemons(), clock_.mono());
    }

    const SystemClock clock_;
    const AttemptDir dir_;
    const AttemptFile attempt_;
    UniqueFd signals_;
    ControlServer control_;
    RankProcesses ranks_;
    StopPolicy policy_;
};

}  // namespace

Status run_shim(const std::string& path) {
    ::prctl(PR_SET_NAME, "ringmaster-shim");
    const AttemptDir dir(path);
    if (::fcntl(kLiveLockFd, F_GETFD) < 0) {
        return make_error(ErrorCode::failed_precondition,
                          "a shim is started by its worker, which passes the live lock of {}",
                          path);
    }
    RM_TRY(const std::string text, read_text_file(dir.attempt()));
    RM_TRY(AttemptFile attempt, parse_attempt_file(text));
    RM_TRY(UniqueFd signals, open_signals());
    RM_TRY(UniqueFd listener, listen_in(path, kShimSocket));
    Shim shim(dir, std::move(attempt), std::move(signals), std::move(listener));
    return shim.run();
}

}  // namespace rm
