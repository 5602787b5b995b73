#include "worker/rpc/session_dial.h"

#include <atomic>
#include <utility>

#include "service/grpc/grpc_stream.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"
#include "service/security/client_security.h"

namespace rm {
namespace {

// Longer than gRPC waits between two connection attempts, so that it includes one.
constexpr Seconds kConnectLimit{3};

class LoggedSession final : public WorkerStream {
public:
    LoggedSession(std::unique_ptr<ClientSession> session, const DialTarget& target,
                  RepeatedEvent& down)
        : session_(std::move(session)), target_(target), down_(down) {}
    ~LoggedSession() override {
        cancel();
        ControllerMessage unread;
        while (!ended_)
            read(unread);
        const Status end = session_->finish();
        // Cancelled: by this side, or by a controller that is going down.
        const bool lost = !end && end.error().code != ErrorCode::cancelled;
        down_.came(lost ? LogLevel::warning : LogLevel::info,
                   end ? "the controller ended it" : reason_of(end.error()), SystemClock().mono());
    }

    bool read(ControllerMessage& message) override {
        if (ended_ || !session_->read(message)) {
            ended_ = true;
            over_ = true;
            return false;
        }
        // The first message (the reply to the hello, or a ping) proves that the session works.
        if (!answered_) down_.over();
        answered_ = true;
        return true;
    }
    bool write(const WorkerMessage& message) override {
        if (session_->write(message)) return true;
        over_ = true;
        return false;
    }
    // Leaves a call that has ended by itself alone: CANCELLED would replace its status.
    void cancel() override {
        if (!over_) session_->cancel();
    }

private:
    // gRPC reports a failed handshake as a closed socket.
    std::string reason_of(const Error& error) const {
        if (answered_ || error.code != ErrorCode::unavailable) return error.message;
        const auto mismatch = why_no_connection(target_.address, target_.security);
        return mismatch ? mismatch->message : error.message;
    }

    std::unique_ptr<ClientSession> session_;
    const DialTarget& target_;
    RepeatedEvent& down_;
    bool answered_ = false;
    std::atomic<bool> over_ = false;  // a read or a write has shown it
    bool ended_ = false;              // used by the reading thread, then by the destructor
};

}  // namespace

Dial dial_over(std::shared_ptr<ControllerChannel> channel, DialTarget target) {
    // The sessions refer to both objects in the function, which outlives them.
    const auto shared = std::make_shared<const DialTarget>(std::move(target));
    const auto down = std::make_shared<RepeatedEvent>("session_down");
    return [channel = std::move(channel), shared, down] {
        const auto present = channel->get();
        connect_again(*present, kConnectLimit);
        return std::make_unique<LoggedSession>(open_session(present), *shared, *down);
    };
}

}  // namespace rm
