#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kernels/kernels.h"

// Which bytes each op of kernels.h reads and writes: exactly what that header says, as data. A
// tensor that an op sums into counts as written; spans are the caller's host memory and left out.
// Prepared weights and workspaces are the backend's own and are added by it.
namespace rm {

// A short list without memory of its own. Empty ranges are left out.
class OpAccesses {
public:
    OpAccesses& read(MemoryRange range) { return add(range, reads_, num_reads_); }
    OpAccesses& write(MemoryRange range) { return add(range, writes_, num_writes_); }
    template <typename... Views>
    OpAccesses& read(const TensorView& first, const Views&... others) {
        read(range_of(first));
        (read(range_of(others)), ...);
        return *this;
    }
    template <typename... Views>
    OpAccesses& write(const TensorView& first, const Views&... others) {
        write(range_of(first));
        (write(range_of(others)), ...);
        return *this;
    }
    double bytes() const;  // of all ranges
    std::span<const MemoryRange> reads() const { return std::span(reads_).first(num_reads_); }
    std::span<const MemoryRange> writes() const { return std::span(writes_).first(num_writes_); }

private:
    static constexpr std::size_t kMost = 8;
    using Ranges = std::array<MemoryRange, kMost>;
    OpAccesses& add(MemoryRange range, Ranges& ranges, std::size_t& count);

    Ranges reads_, writes_;
    std::size_t num_reads_ = 0, num_writes_ = 0;
};

OpAccesses accesses_of(const LinearFwd& op);
OpAccesses accesses_of(const LinearBwdInput& op);
OpAccesses accesses_of(const LinearBwdWeight& op);
OpAccesses accesses_of(const RmsNormFwd& op);
OpAccesses accesses_of(const RmsNormBwd& op);
OpAccesses accesses_of(const RopeTable& op);
OpAccesses accesses_of(const RopeApply& op);
OpAccesses accesses_of(const SwigluFwd& op);
OpAccesses accesses_of(const SwigluBwd& op);
OpAccesses accesses_of(const EmbeddingFwd& op);
OpAccesses accesses_of(const EmbeddingBwd& op);
OpAccesses accesses_of(const LinearCrossEntropy& op);
OpAccesses accesses_of(const HeadStatistics& op);
OpAccesses accesses_of(const CombineHeadStatistics& op);
OpAccesses accesses_of(const HeadBwd& op);
OpAccesses accesses_of(const AttentionBegin& op);
OpAccesses accesses_of(const AttentionFwd& op);
OpAccesses accesses_of(const AttentionFinish& op);
OpAccesses accesses_of(const AttentionDelta& op);
OpAccesses accesses_of(const AttentionBwd& op);
OpAccesses accesses_of(const FillZero& op);
OpAccesses accesses_of(const Copy& op);
OpAccesses accesses_of(const Add& op);
OpAccesses accesses_of(const CopyHeads& op);
OpAccesses accesses_of(const SumParts& op);
OpAccesses accesses_of(const SumSquares& op);
OpAccesses accesses_of(const ClipFactor& op);
OpAccesses accesses_of(const AdamW& op);

}  // namespace rm
