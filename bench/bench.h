#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/median.h"
#include "bench/arguments.h"
#include "bench/kernels/peer.h"
#include "kernels/kernels.h"

namespace rm::bench {

// Another implementation of the same work, which takes turns with ours.
struct Contender {
    std::string name;
    std::function<double()> run_once;  // seconds
    std::function<Bytes()> memory = [] { return Bytes{}; };
};
struct Comparison {
    std::string name;
    double seconds = 0;  // median
    double ratio = 0;    // theirs over ours, the median over the turns: above 1 we are faster
    Bytes memory;        // the peak of their process
};

// One measured figure: `flops` operations, or `bytes` read and written, in `seconds`, the median of
// repeated runs.
struct Row {
    std::string name;
    double flops = 0;
    double seconds = 0;
    double bytes = 0;
    double tokens = 0;  // trained; then memory is reported, too
    Bytes memory;       // the peak of this process
    std::vector<Comparison> comparisons;
};

// Wall time, or the CPU time of the process divided by its threads: on a busy machine only CPU time
// measures our own work. It includes the time in which a peer spins while it waits.
enum class Clock { wall, cpu };

struct Options {
    bool on_gpu = false;
    int repeats = 7;
    std::int64_t context = 0;  // tokens of attention; 0: several lengths
    int num_threads = 1;
    Clock clock = Clock::wall;
    DType compute = DType::f32;
    TorchPeer* torch = nullptr;              // null: without
    std::function<void(const Row&)> on_row;  // takes each row as soon as it is measured
};
Flag dtype_flag(Options& options);
Flag clock_flag(Options& options);

// A piece of work to measure, and its size.
struct Work {
    std::string name;
    double flops = 0;
    double bytes = 0;
    double tokens = 0;
    std::string torch;  // the work as JSON for the peer; empty: the peer cannot do it
    std::vector<Contender> contenders;
};

// Memory and a stream for the ops of one measurement.
class Bench {
public:
    Bench(Kernels& kernels, const Options& options)
        : kernels_(kernels), options_(options), stream_(kernels.device().make_stream("bench")) {}

    using Shape = std::initializer_list<std::int64_t>;
    // Small numbers that differ, so that nothing overflows and nothing is denormal.
    TensorView tensor(Shape shape);    // f32
    TensorView positive(Shape shape);  // the same without signs
    TensorView compute(Shape shape);   // of the compute type
    TensorView zeros(DType dtype, Shape shape);
    TensorView tokens(std::int64_t count, std::int64_t below);
    TensorView scalars(const std::vector<double>& values);  // f64
    const PreparedWeight& weight(std::int64_t num_rows, std::int64_t num_columns,
                                 WeightForm form = WeightForm::compute);
    template <typename Op>
    Workspace workspace(const Op& op) {
        const Bytes size = kernels_.workspace_bytes(op);
        const Buffer& buffer =
            buffers_.emplace_back(kernels_.device().allocate(size, MemoryKind::workspace));
        return {buffer.data(), size};
    }

    // Measures the work that `queue` queues on the stream, in turns with contenders, and gives the
    // row to on_row; does not count the first turn. A failing torch peer is fatal: a requested
    // comparison is never omitted silently.
    void measure(const Work& work, const std::function<void(Stream&)>& queue);

private:
    TensorView upload(DType dtype, Shape shape, const void* numbers);
    double seconds_of_turn(const std::function<void(Stream&)>& queue, int times);
    int times_per_turn(const Work& work, const std::function<void(Stream&)>& queue);
    Contender torch_contender(const std::string& work, int times) const;

    Kernels& kernels_;
    Options options_;
    std::vector<Tensor> tensors_;
    std::vector<Buffer> buffers_;
    std::vector<std::unique_ptr<PreparedWeight>> weights_;
    std::unique_ptr<Stream> stream_;  // last: it ends before the memory is freed
};

double now(const Options& options);  // seconds
double thread_seconds();             // of the processor, for the calling thread

// A bare loop over oneDNN's matrix product with packed weights: the baseline of our products.
// Empty when built without oneDNN, or when it has no product for the type on this CPU.
// y (T, N) = x (T, K) B (K, N), the rows dealt evenly to the threads.
std::vector<Contender> onednn_product(std::int64_t T, std::int64_t N, std::int64_t K,
                                      const Options& options);
// d_w (N, K) += d_y (T, N)^T x (T, K) in f32, the rows of d_w dealt evenly to the threads.
std::vector<Contender> onednn_weight_gradient(std::int64_t T, std::int64_t N, std::int64_t K,
                                              const Options& options);

// y = x W^T, d_x = d_y W and d_w += d_y^T x at shapes of small and middling models; beside a bare
// loop over oneDNN's matrix product where the build has it.
void bench_gemm(Kernels& kernels, const Options& options);

// The linear layer in FP8 with its casts, with one scale and with scales of blocks, beside the same
// in the compute type.
void bench_fp8(Kernels& kernels, const Options& options);

// Causal attention, forward and forward with backward. Operations of visible pairs only are
// counted: 4 D forward, 10 D backward.
void bench_attention(Kernels& kernels, const Options& options);

// A training step of a small model on one rank.
void bench_step(Kernels& kernels, const Options& options);

// Everything else that a step does, beside a plain copy of memory.
void bench_ops(Kernels& kernels, const Options& options);

}  // namespace rm::bench
