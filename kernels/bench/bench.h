#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace rm::bench {

// One measured figure: `flops` operations in `seconds`, the median of repeated runs.
struct Row {
    std::string name;
    double flops = 0;
    double seconds = 0;
    double flops_per_second() const { return flops / seconds; }
};

struct Options {
    int repeats = 7;
    std::int64_t context = 8192;  // tokens of attention
};

// Memory and a stream for the ops of one measurement.
class Bench {
public:
    Bench(Kernels& kernels, int repeats)
        : kernels_(kernels), stream_(kernels.device().make_stream("bench")), repeats_(repeats) {}

    // Small numbers that differ, so that nothing overflows and nothing is denormal.
    TensorView tensor(std::initializer_list<std::int64_t> shape);
    const PreparedWeight& weight(std::int64_t num_rows, std::int64_t num_columns);
    template <typename Op>
    Workspace workspace(const Op& op) {
        const Bytes size = kernels_.workspace_bytes(op);
        const Buffer& buffer =
            buffers_.emplace_back(kernels_.device().allocate(size, MemoryKind::workspace));
        return {buffer.data(), size};
    }

    // Median time of what `queue` queues on the stream; the first run is not counted.
    template <typename Queue>
    double seconds_of(const Queue& queue) {
        std::vector<double> seconds;
        for (int i = 0; i <= repeats_; ++i) {
            const double start = now();
            queue(*stream_);
            stream_->synchronize();
            if (i > 0) seconds.push_back(now() - start);
        }
        return median(std::move(seconds));
    }

private:
    static double now();
    static double median(std::vector<double> values);

    Kernels& kernels_;
    std::vector<Tensor> tensors_;
    std::vector<Buffer> buffers_;
    std::vector<std::unique_ptr<PreparedWeight>> weights_;
    std::unique_ptr<Stream> stream_;  // last: passes what it has queued before the memory goes
    int repeats_ = 0;
};

// y = x W^T, d_x = d_y W and d_w += d_y^T x at shapes of small and middling models.
std::vector<Row> bench_gemm(Kernels& kernels, const Options& options);

// Causal attention of 4 query and 2 key-value heads over `context` tokens, forward and forward with
// backward. Operations of visible pairs only are counted: 4 D forward, 10 D backward.
std::vector<Row> bench_attention(Kernels& kernels, const Options& options);

}  // namespace rm::bench
