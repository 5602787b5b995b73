#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/linears/linear_precision.h"
#include "kernels/device.h"
#include "kernels/kernels.h"

namespace rm {

// Where a layer rounds tensors to FP8: what its linears take, and the gradients of what they make.
enum class Fp8Site {
    attention_input,
    attention_output,
    mlp_input,
    mlp_hidden,
    d_query,
    d_key,
    d_value,
    d_attention,
    d_gate,
    d_up,
    d_mlp
};
constexpr std::size_t kNumFp8Sites = 11;
constexpr bool is_gradient(Fp8Site site) {
    return site >= Fp8Site::d_query;
}

// How the tensors of a site are scaled in this step. Current scaling has neither scale nor largest.
struct Fp8Scaling {
    Scaling scaling = Scaling::current;
    TensorView scale;    // (1) f32: of given scaling
    TensorView largest;  // (1) f32: gathers the largest number of the step
};
using LayerFp8Sites = std::array<Fp8Scaling, kNumFp8Sites>;

// Delayed scaling (Micikevicius et al., FP8 Formats for Deep Learning, 2022): a site's scale in a
// step is that for the largest number of the last kHistory steps, over all tiles and all ranks. So
// it depends on no mesh, no tile and no chunk, and a tensor is read once. A site without history,
// as in a run's first step, is scaled currently.
class Fp8History {
public:
    static constexpr std::size_t kHistory = 16;

    // With another recipe it holds nothing and does nothing. Borrows the device.
    Fp8History(Device& device, const LinearPrecision& precision, std::int64_t num_layers);

    bool delayed() const { return !steps_.empty(); }
    std::int64_t num_sites() const { return static_cast<std::int64_t>(steps_.size()); }
    // In the order of Fp8Site; the same object through all steps.
    const LayerFp8Sites& layer(std::int64_t layer) const { return layers_[usize(layer)]; }

    // Queues what a step's sites need: their scales, and nothing seen yet.
    void begin_step(Kernels& kernels, Stream& stream);
    // (sites) f32: the largest numbers of the step on this rank.
    const TensorView& largest() const { return largest_; }
    // After the step, with those of all ranks: num_sites() numbers each. Infinities do not count:
    // a step that has one is not finite, and changes nothing.
    void end_step(std::span<const float> largest_of_ranks);

    // By site, oldest first; for checkpoints.
    const std::vector<std::vector<float>>& steps() const { return steps_; }
    // A history with another number of sites is ignored: this one starts anew.
    void restore(std::vector<std::vector<float>> steps);
    // At the start of a stage: gradients have another size where a step has another batch.
    void forget();

private:
    static constexpr std::int64_t kScaleStride = 4;  // floats: 16 bytes
    void set_scales();

    LinearPrecision precision_;
    std::vector<LayerFp8Sites> layers_;
    std::vector<std::vector<float>> steps_;
    std::vector<float> host_scales_;
    Tensor scales_;   // (sites * kScaleStride) f32
    Tensor largest_;  // (sites) f32
};

}  // namespace rm
