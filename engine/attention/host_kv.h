#pragma once

#include <vector>

#include "engine/attention/kv_stream.h"
#include "engine/windows/rank_layout.h"

namespace rm {

// Streams one rank's keys and values from the host (FPDT, arXiv:2408.16978): every query group
// gets the chunks up to its own.
class HostKv final : public KvStream {
public:
    // Borrows all. `most_rows`: of a chunk.
    HostKv(StepMemory& memory, QueryKeyValue& stores, const std::vector<QueryChunk>& chunks,
           std::int64_t most_rows);
    int num_blocks(std::size_t group) const override { return static_cast<int>(group) + 1; }
    KvBlock next() override;
    void done() override;

private:
    const std::vector<QueryChunk>& chunks_;
    TokenWindow k_;
    TokenWindow v_;
    WindowGroup windows_;
    std::size_t group_ = 0;
    std::size_t block_ = 0;  // of the group
};

// The same with gradients, which also stay on the host between groups.
class HostKvGrad final : public KvGradStream {
public:
    HostKvGrad(StepMemory& memory, const Ops& ops, QueryKeyValue& stores,
               const std::vector<QueryChunk>& chunks, std::int64_t most_rows);
    int num_blocks(std::size_t group) const override { return static_cast<int>(group) + 1; }
    KvGradBlock next() override;
    void done() override;
    Gradients finish() override;

private:
    const Ops& ops_;
    const std::vector<QueryChunk>& chunks_;
    Gradients gradients_;
    TokenWindow k_, v_, d_k_, d_v_;
    WindowGroup windows_;
    std::size_t group_ = 0;
    std::size_t block_ = 0;
};

}  // namespace rm
