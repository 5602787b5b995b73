#pragma once

#include <csignal>

namespace rm {

// Signals are blocked in the calling thread while one of these lives; threads started meanwhile
// keep them blocked. gloo writes to sockets without MSG_NOSIGNAL, so a peer that died would end
// this process by SIGPIPE before anything could name the peer: a SIGPIPE raised meanwhile is thrown
// away.
class BlockedSignals {
public:
    static BlockedSignals all();
    static BlockedSignals sigpipe();
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals();

private:
    explicit BlockedSignals(const sigset_t& signals);

    sigset_t previous_;
};

}  // namespace rm
