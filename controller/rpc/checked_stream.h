#pragma once

#include <functional>
#include <utility>

#include "base/session.h"
#include "controller/rpc/caller.h"

namespace rm {

// A session whose hello names a node that its credential speaks for, and which ends when the
// credential does: every message (pings are echoed every 5 s) is judged like a call of its own.
class CheckedStream final : public MessageStream<WorkerMessage, ControllerMessage> {
public:
    using Stream = MessageStream<WorkerMessage, ControllerMessage>;
    using Identify = std::function<Result<Principal>()>;

    CheckedStream(Stream& stream, Identify identify)
        : stream_(stream), identify_(std::move(identify)) {}

    bool read(WorkerMessage& message) override {
        if (!stream_.read(message)) return false;
        status_ = check(message);
        return status_.ok();
    }
    bool write(const ControllerMessage& message) override { return stream_.write(message); }
    void cancel() override { stream_.cancel(); }

    // Why read() returned false, if it was not the stream's end. For its thread.
    const Status& status() const { return status_; }

private:
    Status check(const WorkerMessage& message) const {
        RM_TRY(const Principal caller, identify_());
        const auto* hello = std::get_if<Hello>(&message);
        return hello == nullptr ? Status() : check_speaks_for(caller, hello->node);
    }

    Stream& stream_;
    const Identify identify_;
    Status status_;
};

}  // namespace rm
