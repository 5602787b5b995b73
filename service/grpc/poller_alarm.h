#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace rm {

// Calls a server's own health service several times a second, within the process. gRPC's threads
// for callbacks sleep for 100 ms after a second without an event (1.51, CallbackAlternativeCQ), and
// no call of the process is taken meanwhile.
class PollerAlarm {
public:
    explicit PollerAlarm(grpc::Server& server);
    ~PollerAlarm();  // before the server's shutdown; waits for a call that is under way
    PollerAlarm(const PollerAlarm&) = delete;
    PollerAlarm& operator=(const PollerAlarm&) = delete;

private:
    void call();
    void wait();   // with mutex_ held, like the next
    bool ended();  // true: no further call

    grpc::GenericStub stub_;
    const grpc::ByteBuffer request_;
    grpc::ByteBuffer reply_;
    std::unique_ptr<grpc::ClientContext> context_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    bool busy_ = true;
    std::size_t next_ = 0;
    std::array<grpc::Alarm, 2> alarms_;  // an alarm cannot be set again while it rings
};

}  // namespace rm
