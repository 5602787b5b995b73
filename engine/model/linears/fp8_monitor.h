#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/linears/fp8_history.h"
#include "engine/model/linears/fp8_sites.h"
#include "engine/model/linears/linear_precision.h"

namespace rm {

// Shares of the numbers that are finite and not 0; 0 where there are none.
double flushed_share(const Fp8Effect& effect);
double saturated_share(const Fp8Effect& effect);
// The root of the squared error over that of the squares.
double relative_error(const Fp8Effect& effect);

struct Fp8Tensor {
    std::int64_t layer = 0;
    Fp8Site site = Fp8Site::attention_input;
    Fp8Effect effect;  // of a step, on all ranks

    std::string name() const;  // "mlp_hidden of model.layers.3"
};

// Follows the effect of rounding to FP8 on each tensor of each layer, step by step.
class Fp8Monitor {
public:
    // Without FP8 it holds nothing and does nothing. Borrows the device; the sites of all layers
    // get its memory.
    Fp8Monitor(Device& device, const LinearPrecision& precision,
               std::vector<LayerFp8Sites>& layers);

    bool observes() const { return !seen_.empty(); }
    // Queues that nothing has been seen yet.
    void begin_step(Kernels& kernels, Stream& stream);
    // (sites * kFp8EffectNumbers) f64: the step's effects on this rank, which the caller sums over
    // all ranks before it queues their download.
    const TensorView& effects() const { return effects_; }
    void queue_download(Device& device, Stream& stream);

    // Those that the last step rounded, once its download has ended.
    std::vector<Fp8Tensor> tensors() const;
    // In each layer the tensor that is furthest beyond a limit, if one is.
    std::vector<Fp8Tensor> beyond(const Fp8Limits& limits) const;

private:
    std::vector<Fp8Effect> seen_;  // by layer and site
    Tensor effects_;
};

// "37.1 % of its numbers are too large for their scale (fp8.max_saturated: 1 %)"
std::string breach_text(const Fp8Effect& effect, const Fp8Limits& limits);

// The layers that FP8 does not hold for now, and until when. Steps count from 1.
class Fp8Fallback {
public:
    // By layer; for checkpoints.
    struct Stays {
        std::vector<std::int64_t> until;  // the last step in bf16
        std::vector<std::int64_t> steps;  // of the last stay; 0: none yet
    };
    explicit Fp8Fallback(std::int64_t num_layers) : num_layers_(usize(num_layers)) { forget(); }

    bool in_bf16(std::int64_t layer, std::int64_t step) const {
        return step <= stays_.until[usize(layer)];
    }
    std::int64_t num_in_bf16(std::int64_t step) const;
    // After a step that FP8 did not hold. A layer that has been back for no more steps than its
    // last stay took stays twice as long now; every other stays for `first_steps`. Returns the last
    // step of the stay.
    std::int64_t fall_back(std::int64_t layer, std::int64_t step, std::int64_t first_steps);
    std::int64_t count() const { return count_; }  // of this run

    const Stays& stays() const { return stays_; }
    // Those of another number of layers are left out.
    void restore(const Stays& stays);
    void forget();

private:
    std::size_t num_layers_;
    Stays stays_;
    std::int64_t count_ = 0;
};

// A rank's knowledge of its layers' tensors in FP8.
class Fp8Sites {
public:
    Fp8Sites(Device& device, const LinearPrecision& precision, std::int64_t num_layers);

    // The same object through all steps.
    const LayerFp8Sites& layer(std::int64_t layer) const { return layers_[usize(layer)]; }
    Fp8History& history() { return history_; }
    Fp8Monitor& monitor() { return monitor_; }
    Fp8Fallback& fallback() { return fallback_; }
    void begin_step(Kernels& kernels, Stream& stream);

private:
    std::vector<LayerFp8Sites> layers_;
    Fp8History history_;
    Fp8Monitor monitor_;
    Fp8Fallback fallback_;
};

}  // namespace rm
