#include "cli/client/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/check.h"

namespace rm {
namespace {

sigset_t handled_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
        sigaddset(&set, signal);
    return set;
}

}  // namespace

Signals::Signals() {
    const sigset_t set = handled_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC);
    RM_CHECK(fd_ >= 0 && wake_ >= 0, "signalfd {} eventfd {}: no file descriptors left", fd_,
             wake_);
    thread_ = std::thread([this] { deliver(); });
}

Signals::~Signals() {
    const std::uint64_t one = 1;
    RM_CHECK(write(wake_, &one, sizeof one) == sizeof one, "cannot write to eventfd {}", wake_);
    thread_.join();
    close(fd_);
    close(wake_);
    const sigset_t set = handled_signals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::stop_token Signals::token() const {
    const std::lock_guard lock(mutex_);
    return source_.get_token();
}

Signals::Arrived Signals::take() {
    const std::lock_guard lock(mutex_);
    const Arrived arrived = arrived_;
    arrived_ = {};
    source_ = std::stop_source();
    return arrived;
}

void Signals::wait_for(Seconds limit) const {
    sleep_for(limit, token());
}

void Signals::deliver() {
    for (;;) {
        pollfd ready[] = {{fd_, POLLIN, 0}, {wake_, POLLIN, 0}};
        if (poll(ready, 2, -1) < 0) continue;
        if (ready[1].revents != 0) return;
        signalfd_siginfo info{};
        if (read(fd_, &info, sizeof info) != sizeof info) continue;
        std::stop_source source;
        {
            const std::lock_guard lock(mutex_);
            (info.ssi_signo == SIGCHLD ? arrived_.child_changes : arrived_.interrupts) += 1;
            source = source_;
        }
        source.request_stop();  // runs callbacks: not under the lock
    }
}

}  // namespace rm
