#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "engine/comm/nccl/nccl_groups.h"

namespace rm::nccl {

// The communicators of one rank's groups. Abort is NCCL's way to end collectives that hang: it
// comes from another thread than the one that launches.
class Communicators {
public:
    // Connects all groups, in a thread of their own: where a peer never comes NCCL does not return.
    // Throws TransportError after the timeout, or once `stop` is set.
    Communicators(const Api& api, std::vector<OwnGroup> groups, Seconds timeout,
                  const std::atomic<bool>* stop);
    Communicators(const Communicators&) = delete;
    Communicators& operator=(const Communicators&) = delete;
    // Frees them; NCCL waits for peers here, unless they were aborted.
    ~Communicators();

    // The communicator of the group with these ranks, two at least.
    Comm of(const Group& group) const;

    // Runs `launch` unless they were aborted: then it throws a TransportError with the reason.
    template <typename Launch>
    void guarded(const Launch& launch) {
        const Launching launching(*this);
        launch();
    }
    // Ends everything with this reason: first tells the listener, then aborts. Any thread; the
    // first call counts.
    void abort(const std::string& reason);
    // One at most; null: none.
    void tell(std::function<void(const std::string& reason)> listener);
    // The error that NCCL has met since; empty: none.
    std::string asynchronous_error();

private:
    class Launching {
    public:
        explicit Launching(Communicators& all);
        Launching(const Launching&) = delete;
        Launching& operator=(const Launching&) = delete;
        ~Launching() { all_.launching_ = false; }

    private:
        Communicators& all_;
    };

    const Api& api_;
    std::vector<OwnGroup> groups_;
    std::vector<Comm> comms_;  // of the same index
    std::mutex mutex_;
    bool aborted_ = false;
    std::string reason_;
    std::function<void(const std::string&)> listener_;
    std::atomic<bool> launching_ = false;
};

// Plays collectives with NCCL on a device's stream. Marks in the stream's order show on the
// progress page which collective the device has reached; a watching thread reads them.
class NcclCommunicator final : public Communicator {
public:
    // All references outlive the communicator. `stream` is a stream of `device`.
    NcclCommunicator(const Api& api, Communicators& all, Device& device, Stream& stream,
                     const Mesh& mesh, int rank, const std::atomic<double>& timeout_seconds,
                     CommProgress& progress);
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;
    ~NcclCommunicator() override;

private:
    void enqueue(Collective collective) override;
    Cutting cutting() const override;
    Seconds waited() const override { return {static_cast<double>(waited_nanos_) * 1e-9}; }

    void entered(const Collective& collective);
    void left(const Collective& collective);
    void play(const Collective& collective, NativeStream stream) const;
    void play_shifts(const Collective& collective, NativeStream stream) const;
    void reduce_scatter(const Collective& collective, NativeStream stream) const;
    void all_gather(const Collective& collective, NativeStream stream) const;
    void all_to_all(const Collective& collective, NativeStream stream) const;
    void end_group(std::string_view what) const;

    // A look at the progress of the stream: ends it when NCCL has failed or a collective takes too
    // long.
    void watch();
    std::string overdue() const;

    const Api& api_;
    Communicators& all_;
    Stream& stream_;
    const std::atomic<double>& timeout_seconds_;
    CommProgress& progress_;
    const Staging direct_;
    const Tensor token_;  // of barriers: (1) i32
    // When the device entered its collective; 0: it is in none.
    std::atomic<std::int64_t> entered_nanos_{0};
    std::atomic<GroupKey> entered_group_{GroupKey::world};
    std::atomic<std::int64_t> waited_nanos_{0};
    Loop watch_;  // last: starts when the rest is there
};

}  // namespace rm::nccl
