#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/median.h"
#include "kernels/meta/op_work.h"

namespace rm {

// One op at one shape, to be timed on a real machine.
struct ProfileSample {
    std::string op;
    std::string shape;  // for people
    OpWork work;
    Bytes workspace;
    std::function<void(std::int64_t call)> queue;
    std::vector<double> times = {};  // seconds, by round
    double seconds() const { return median(times); }
};

// Makes ops with memory of their own on a machine's kernels. As in a step over tiles, one call
// after the other works on the next tile of larger tensors: what it reads is in no first-level
// cache.
class ProfileSampler {
public:
    ProfileSampler(Kernels& kernels, std::function<double()> now);  // now: seconds
    ProfileSampler(const ProfileSampler&) = delete;
    ProfileSampler& operator=(const ProfileSampler&) = delete;

    // Products of T tokens, y (T, N) = x (T, K) W^T, and prepare of that weight; where the machine
    // computes in FP8 and these sizes allow it, also those.
    void products(std::int64_t T, std::int64_t N, std::int64_t K);
    // Norm, rotation, activation, sums and moves of (T, C).
    void tokens(std::int64_t T, std::int64_t C);
    struct AttentionShape {
        std::int64_t T = 0, S = 0;  // the last T of S positions see those and what is before
        std::int64_t Hq = 0, Hk = 0, D = 0;
    };
    void attention(const AttentionShape& shape);
    void attention_rows(std::int64_t T, std::int64_t Hq, std::int64_t D);  // begin, finish, delta
    void head(std::int64_t T, std::int64_t C, std::int64_t V);
    void update(std::int64_t size);     // of that many weights
    void transfers(std::int64_t size);  // bytes

    std::vector<ProfileSample>& samples() { return samples_; }
    // Calls `add`, which adds samples, and takes them back where the device has no memory for
    // them, or less than an eighth would be left for its kernels. The first samples of a sampler
    // must have room: where they have not, OutOfMemory passes.
    void add_if_room(const std::function<void()>& add);
    // Each sample once more, one after the other: what disturbs the machine for a while is seen in
    // few times of each. When `is_late`, samples that have a time already are left out.
    void run_round(const std::function<bool()>& is_late);
    void run(ProfileSample& sample);

private:
    // Tensors that the ops over tokens share, (rows, C) compute each: several tiles of T rows.
    struct Activations {
        std::int64_t T = 0, C = 0, rows = 0;
        std::string shape;  // for people
        TensorView x, y, z, d_x, d_y;
        TensorView at(const TensorView& of, std::int64_t call) const;  // the tile of that call
    };
    void norms(const Activations& a);
    void rotations(const Activations& a);
    void gates(const Activations& a);
    void embeddings(const Activations& a);
    void moves(const Activations& a);

    TensorView tensor(DType dtype, std::initializer_list<std::int64_t> shape);
    TensorView compute(std::int64_t rows, std::int64_t columns) {
        return tensor(kernels_.types().compute, {rows, columns});
    }
    TensorView accum(std::initializer_list<std::int64_t> shape) {
        return tensor(kernels_.types().accum, shape);
    }
    TensorView indices(std::int64_t count, std::int64_t below);
    const PreparedWeight& weight(std::int64_t num_rows, std::int64_t num_columns,
                                 WeightForm form = WeightForm::compute);
    Fp8Matrix codes(std::int64_t rows, std::int64_t columns, Scaling scaling);
    void fp8_products(std::int64_t T, std::int64_t N, std::int64_t K, Scaling scaling);

    template <typename Op>
    Workspace workspace(const Op& op) {
        if constexpr (!takes_workspace<Op>) return {};
        const Bytes size = kernels_.workspace_bytes(op);
        const Buffer& buffer =
            buffers_.emplace_back(kernels_.device().allocate(size, MemoryKind::workspace));
        return {buffer.data(), size};
    }
    void add(std::string_view op, const std::string& shape, const OpWork& work,
             std::function<void(std::int64_t)> queue, Bytes workspace = {}) {
        samples_.push_back({std::string(op), shape, work, workspace, std::move(queue), {}});
    }
    // `op_of` gives the op of the i-th call.
    template <typename OpOf>
    void add(const std::string& shape, OpOf op_of) {
        const auto first = op_of(0);
        const OpAccesses accesses = accesses_of(first, kernels_.types());
        const Workspace space = workspace(first);
        add(
            timed_as(first), shape, work_of(first, flops_of(first), accesses),
            [this, op_of, space](std::int64_t i) { kernels_.run(op_of(i), space, *stream_); },
            space.size);
    }
    double seconds_of(const ProfileSample& sample, std::int64_t calls);

    Kernels& kernels_;
    const std::function<double()> now_;
    std::vector<Tensor> tensors_;
    std::vector<Buffer> buffers_;
    std::vector<PinnedBuffer> pinned_;
    std::vector<std::unique_ptr<PreparedWeight>> weights_;
    std::vector<std::unique_ptr<std::vector<Run>>> runs_;
    std::vector<double> inv_freq_;
    std::vector<ProfileSample> samples_;
    std::unique_ptr<Stream> stream_;  // last: it ends before the memory it uses is freed
};

}  // namespace rm
