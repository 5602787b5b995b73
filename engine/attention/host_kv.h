#pragma once

#include "engine/attention/ring.h"

namespace rm {

// Streams keys and values from the host (FPDT, arXiv:2408.16978): every query chunk gets the chunks
// that it sees, block by block in the ring's order. Chunks of other slots come round the ring once
// and wait on the host as well, never as a whole on the device.
class HostKv final : public KvStream {
public:
    // Borrows all. Queues all hops of the ring; they follow the stores, not the compute stream.
    HostKv(RingBuffers& buffers, KeyValue& own, const SequenceRuns& runs);
    ~HostKv() override;
    std::size_t num_blocks(std::size_t group) const override {
        return runs_.by_queries.count(group);
    }
    KvBlock next() override;
    void done() override;

private:
    const RingBuffers& buffers_;
    const SequenceRuns& runs_;
    KeyValue others_;  // of the blocks of the ring but the own one
    StreamOrder::Mark gathered_;
    TokenWindow k_, v_;
    WindowGroup windows_;
    std::size_t pair_ = 0;
};

}  // namespace rm
