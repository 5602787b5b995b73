#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/comm/shared/shared_links.h"

namespace rm {

// A thread that moves the messages of shared links while the rank waits for a message of other
// links: the peers on its node do not wait for those.
class Mover {
public:
    explicit Mover(SharedMemoryLinks& links);
    ~Mover();
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    // The thread moves messages while this lives.
    class Turn {
    public:
        explicit Turn(Mover& mover) : mover_(mover) { mover_.set(true); }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() { mover_.set(false); }

    private:
        Mover& mover_;
    };

private:
    void set(bool moves);
    void run(const std::stop_token& stop);

    SharedMemoryLinks& links_;
    std::mutex mutex_;  // guards what follows
    std::condition_variable_any changed_;
    bool moves_ = false;
    std::jthread thread_;
};

}  // namespace rm
