#pragma once

#include <csignal>

namespace rm {

// Blocks signals in the calling thread while it lives; threads started meanwhile keep them blocked.
// gloo writes to sockets without MSG_NOSIGNAL, so a peer that died would end this process by
// SIGPIPE before anything could name the peer: the destructor discards a SIGPIPE raised meanwhile.
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
