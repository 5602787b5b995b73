#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "tests/engine/comm/cluster.h"

namespace rm::testing {

// Passes work on and notes what it declares.
class NotingStream final : public Stream {
public:
    struct Note {
        std::string op;
        std::vector<MemoryRange> reads;
        std::vector<MemoryRange> writes;
        std::vector<Traffic> traffic;
    };

    explicit NotingStream(Stream& stream) : stream_(stream) {}
    void queue(const QueuedWork& what, std::function<void()> work) override;
    void enqueue(std::string_view op, std::function<void()> work) override {
        stream_.enqueue(op, std::move(work));
    }
    void call_host(std::string_view op, std::function<void()> work) override {
        stream_.call_host(op, std::move(work));
    }
    std::int64_t num_queued() const override { return stream_.num_queued(); }
    void record(Event& event) override { stream_.record(event); }
    void wait(const Event& event) override { stream_.wait(event); }
    void synchronize() override { stream_.synchronize(); }

    const std::vector<Note>& notes() const { return notes_; }
    // By group and collective, as CommCounters counts.
    std::map<std::string, std::int64_t> bytes_by_name() const;

private:
    Stream& stream_;
    std::vector<Note> notes_;
};

// One rank's queued communication, wired as in the engine.
struct Rank {
    Rank(Network& network, const Mesh& mesh)
        : stream(network.make_stream(*device)),
          made(network.make_communicator(*device, noting, mesh, progress)) {}

    std::unique_ptr<Device> device = make_host_device();
    std::unique_ptr<Stream> stream;
    NotingStream noting{*stream};
    CommProgress progress;
    std::unique_ptr<Communicator> made;
    Communicator& communicator = *made;
};

// (count) f32.
Tensor filled(Device& device, std::int64_t count, float value);

// Runs on every kind of network; instantiated in communicator_test.cc.
class Communicators : public ::testing::TestWithParam<std::string> {
protected:
    Cluster cluster(const Mesh& mesh) const {
        return {.kind = GetParam(),
                .num_ranks = mesh.num_ranks(),
                .peers = peers_of(mesh),
                .mesh = mesh};
    }
};
// Runs on transports alone.
class StagedCommunicators : public Communicators {};

}  // namespace rm::testing
