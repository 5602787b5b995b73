#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/linears/fp8_sites.h"
#include "engine/model/linears/linear_precision.h"

namespace rm {

// Delayed scaling (Micikevicius et al., FP8 Formats for Deep Learning, 2022): a site's scale in a
// step is that for the largest number of the last kHistory steps, over all tiles and all ranks. So
// it depends on no mesh, no tile and no chunk, and a tensor is read once. A site without history,
// as in a run's first step, is scaled currently.
class Fp8History {
public:
    static constexpr std::size_t kHistory = 16;

    // With another recipe it holds nothing and does nothing. Borrows the device and the sites of
    // all layers, whose scaling it sets.
    Fp8History(Device& device, const LinearPrecision& precision,
               std::vector<LayerFp8Sites>& layers);

    bool delayed() const { return !steps_.empty(); }
    std::int64_t num_sites() const { return static_cast<std::int64_t>(steps_.size()); }

    // Queues what a step's sites need: their scales, and nothing seen yet.
    void begin_step(Kernels& kernels, Stream& stream);
    // (sites) f32: the largest numbers of the step on this rank.
    const TensorView& largest() const { return largest_; }
    // After the step, with those of all ranks: num_sites() numbers each. Infinities do not count:
    // a step that has one is not finite, and changes nothing. Nor does 0: the site was not rounded.
    void end_step(std::span<const float> largest_of_ranks);

    // By site, oldest first; for checkpoints.
    const std::vector<std::vector<float>>& steps() const { return steps_; }
    // A history with another number of sites is ignored: this one starts anew.
    void restore(std::vector<std::vector<float>> steps);
    // At the start of a stage: gradients have another size where a step has another batch.
    void forget();
    // When a layer leaves FP8: its numbers change unseen.
    void forget(std::int64_t layer);

private:
    static constexpr std::int64_t kScaleStride = 4;  // floats: 16 bytes
    void set_scales();

    LinearPrecision precision_;
    std::vector<LayerFp8Sites>& layers_;
    std::vector<std::vector<float>> steps_;
    std::vector<float> host_scales_;
    Tensor scales_;   // (sites * kScaleStride) f32
    Tensor largest_;  // (sites) f32
};

}  // namespace rm
