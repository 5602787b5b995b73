#include "tests/load/sessions.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "tests/load/channels.h"

namespace rm::load {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kDevices = 8;

Hello hello_of(int number) {
    Hello hello;
    hello.node = {format("node-{}", number)};
    hello.build = "load";
    hello.boot_id = format("boot-{}", number);
    hello.inventory.hostname = format("host-{}", number);
    for (int i = 0; i < kDevices; ++i)
        hello.inventory.devices.push_back({.index = i, .kind = "cpu", .memory = Bytes{48LL << 30}});
    return hello;
}

// A client's call; the destructor cancels it and waits for its end.
template <typename Out, typename In>
class Call : public grpc::ClientBidiReactor<Out, In> {
public:
    ~Call() override { end(); }
    void end() {
        if (!started_) return;
        context_.TryCancel();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return done_; });
        started_ = false;
    }
    void OnDone(const grpc::Status&) override {
        const std::lock_guard lock(mutex_);
        done_ = true;
        changed_.notify_all();
    }

protected:
    void begin() {
        started_ = true;
        this->StartCall();
    }
    grpc::ClientContext context_;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool started_ = false;
    bool done_ = false;
};

class IdleTelemetry final : public Call<pb::TelemetryMessage, pb::TelemetryAck> {
public:
    explicit IdleTelemetry(pb::WorkerService::Stub& stub) {
        stub.async()->Telemetry(&context_, this);
        StartRead(&ack_);
        begin();
    }
    ~IdleTelemetry() override { end(); }

private:
    pb::TelemetryAck ack_;
};

}  // namespace

class Sessions::Worker final : public Call<pb::WorkerMessage, pb::ControllerMessage> {
public:
    Worker(const std::string& address, int number, Counters& counters)
        : counters_(counters), stub_(pb::WorkerService::NewStub(own_channel(address))) {
        stub_->async()->Session(&context_, this);
        outgoing_ = to_proto(WorkerMessage(hello_of(number)));
        StartWrite(&outgoing_);
        StartRead(&incoming_);
        begin();
    }
    ~Worker() override { end(); }

    void OnReadDone(bool ok) override {
        if (!ok) {
            ++counters_.ended;
            return;
        }
        if (incoming_.has_hello()) {
            ++counters_.opened;
            telemetry_ = std::make_unique<IdleTelemetry>(*stub_);
        } else if (incoming_.has_ping()) {
            ++counters_.echoes;
            echo(incoming_.ping().nonce());
        }
        StartRead(&incoming_);
    }
    void OnWriteDone(bool ok) override {
        const std::lock_guard lock(mutex_);
        writing_ = false;
        if (ok && owed_ != 0) write_pong();
    }

private:
    // Only the newest ping counts.
    void echo(std::uint64_t nonce) {
        const std::lock_guard lock(mutex_);
        owed_ = nonce;
        if (!writing_) write_pong();
    }
    void write_pong() {
        outgoing_.mutable_pong()->set_nonce(std::exchange(owed_, 0));
        writing_ = true;
        StartWrite(&outgoing_);
    }

    Counters& counters_;
    std::unique_ptr<pb::WorkerService::Stub> stub_;
    std::mutex mutex_;
    bool writing_ = true;  // the hello
    std::uint64_t owed_ = 0;
    pb::WorkerMessage outgoing_;
    pb::ControllerMessage incoming_;
    std::unique_ptr<IdleTelemetry> telemetry_;
};

Sessions::Sessions(const std::string& address, int count, double per_second) {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) {
        std::this_thread::sleep_until(start + std::chrono::duration<double>(i / per_second));
        workers_.push_back(std::make_unique<Worker>(address, i, counters_));
    }
}

Sessions::~Sessions() = default;

bool Sessions::wait_until_open(Seconds limit) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(limit.value);
    while (counters_.opened < static_cast<int>(workers_.size())) {
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

SessionCounts Sessions::counts() const {
    return {counters_.opened, counters_.ended, counters_.echoes};
}

}  // namespace rm::load
