#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "spec/session.h"

namespace rm {

// Messages that wait to be written to a session, in order. Bounded however long the writer is
// stuck: a newer status of an attempt replaces the one still waiting, and so do a newer pong and
// newer roots. Thread safe.
class WorkerOutbox {
public:
    void push(WorkerMessage message);
    // Waits; nothing once closed, even if messages are left.
    std::optional<WorkerMessage> pop();
    void close();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<WorkerMessage> messages_;
    bool closed_ = false;
};

}  // namespace rm
