#include "worker/rpc/session_dial.h"

#include <utility>

#include "service/grpc_stream.h"
#include "service/log.h"

namespace rm {
namespace {

class LoggedSession final : public WorkerStream {
public:
    explicit LoggedSession(std::unique_ptr<ClientSession> session) : session_(std::move(session)) {}
    ~LoggedSession() override {
        cancel();
        ControllerMessage unread;
        while (!ended_)
            read(unread);
        const Status end = session_->finish();
        // Cancelled: by this side, or by a controller that is going down.
        const bool lost = !end && end.error().code != ErrorCode::cancelled;
        log_event(lost ? LogLevel::warning : LogLevel::info, "session_down",
                  {{"reason", end ? "the controller ended it" : end.error().message}});
    }

    bool read(ControllerMessage& message) override {
        ended_ = ended_ || !session_->read(message);
        return !ended_;
    }
    bool write(const WorkerMessage& message) override { return session_->write(message); }
    void cancel() override { session_->cancel(); }

private:
    std::unique_ptr<ClientSession> session_;
    bool ended_ = false;  // the reading thread's, and the destructor's after it
};

}  // namespace

Dial dial_over(std::shared_ptr<grpc::Channel> channel) {
    return [channel = std::move(channel)] {
        return std::make_unique<LoggedSession>(open_session(channel));
    };
}

}  // namespace rm
