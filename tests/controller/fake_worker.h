#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "service/grpc/grpc_stream.h"
#include "service/grpc/grpc_util.h"
#include "tests/controller/world.h"

namespace rm::test {

// A worker as far as the controller can tell: a session over gRPC that answers pings and collects
// the other messages.
class FakeWorker {
public:
    FakeWorker(const std::string& address, const Hello& hello, const ClientSecurity& security = {})
        : channel_(make_channel(address, security).value()), session_(open_session(channel_)) {
        session_->write(hello);
        reader_ = std::thread([this] { read_all(); });
    }
    ~FakeWorker() {
        session_->cancel();
        if (reader_.joinable()) reader_.join();
    }

    // Waits until the controller has ended the session.
    Status wait_for_end() {
        reader_.join();
        return session_->finish();
    }
    // A stream takes one write at a time; the reader answers pings meanwhile.
    void say(const WorkerMessage& message) {
        const std::lock_guard lock(writing_);
        session_->write(message);
    }

    // The next command of this type, if it has arrived.
    template <typename T>
    std::optional<T> try_take() {
        const std::lock_guard lock(mutex_);
        for (auto it = messages_.begin(); it != messages_.end(); ++it) {
            const auto* message = std::get_if<T>(&*it);
            if (message == nullptr) continue;
            const T found = *message;
            messages_.erase(it);
            return found;
        }
        return std::nullopt;
    }

    // Waits for the next command of this type.
    template <typename T>
    T take() {
        std::unique_lock lock(mutex_);
        T found;
        const bool came = changed_.wait_for(lock, std::chrono::seconds(20), [&] {
            for (auto it = messages_.begin(); it != messages_.end(); ++it) {
                if (const auto* message = std::get_if<T>(&*it)) {
                    found = *message;
                    messages_.erase(it);
                    return true;
                }
            }
            return false;
        });
        RM_CHECK(came, "the controller never sent it");
        return found;
    }

private:
    void read_all() {
        ControllerMessage message;
        while (session_->read(message)) {
            if (const auto* ping = std::get_if<Ping>(&message)) {
                say(Pong{ping->nonce});
                continue;
            }
            const std::lock_guard lock(mutex_);
            messages_.push_back(message);
            changed_.notify_all();
        }
    }

    std::shared_ptr<grpc::Channel> channel_;
    std::unique_ptr<ClientSession> session_;
    std::mutex writing_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<ControllerMessage> messages_;
    std::thread reader_;
};

// A worker that the controller has welcomed: nodes register in the order of construction.
class JoinedWorker : public FakeWorker {
public:
    JoinedWorker(const std::string& address, const Hello& hello) : FakeWorker(address, hello) {
        take<HelloReply>();
    }
};

}  // namespace rm::test
