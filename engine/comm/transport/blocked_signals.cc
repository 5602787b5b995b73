#include "engine/comm/transport/blocked_signals.h"

#include <ctime>

namespace rm {
namespace {

sigset_t only_sigpipe() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    return signals;
}

}  // namespace

BlockedSignals BlockedSignals::all() {
    sigset_t signals;
    sigfillset(&signals);
    return BlockedSignals(signals);
}

BlockedSignals BlockedSignals::sigpipe() {
    return BlockedSignals(only_sigpipe());
}

BlockedSignals::BlockedSignals(const sigset_t& signals) {
    pthread_sigmask(SIG_BLOCK, &signals, &previous_);
}

BlockedSignals::~BlockedSignals() {
    if (sigismember(&previous_, SIGPIPE) == 0) {
        const sigset_t sigpipe = only_sigpipe();
        const timespec at_once{};
        sigtimedwait(&sigpipe, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

}  // namespace rm
