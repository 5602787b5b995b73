#include "engine/model/linears/fp8_monitor.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace rm {
namespace {

double share(double count, double of) {
    return of > 0 ? count / of : 0;
}

// How far beyond its limit; at most 1: it is within.
double excess(const Fp8Effect& effect, const Fp8Limits& limits) {
    const auto over = [](double value, double limit) { return limit < 1 ? value / limit : 0; };
    return std::max(over(saturated_share(effect), limits.saturated),
                    over(flushed_share(effect), limits.flushed));
}

}  // namespace

double flushed_share(const Fp8Effect& effect) {
    return share(effect.flushed, effect.nonzero);
}
double saturated_share(const Fp8Effect& effect) {
    return share(effect.saturated, effect.nonzero);
}
double relative_error(const Fp8Effect& effect) {
    return std::sqrt(share(effect.squared_error, effect.squares));
}

std::string Fp8Tensor::name() const {
    return format("{} of model.layers.{}", to_string(site), layer);
}

Fp8Monitor::Fp8Monitor(Device& device, const LinearPrecision& precision,
                       std::vector<LayerFp8Sites>& layers) {
    if (!precision.fp8) return;
    seen_.resize(layers.size() * kNumFp8Sites);
    const auto numbers = static_cast<std::int64_t>(seen_.size()) * kFp8EffectNumbers;
    effects_ = Tensor(device, MemoryKind::workspace, DType::f64, {numbers});
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        const auto first = static_cast<std::int64_t>(i) * kFp8EffectNumbers;
        layers[i / kNumFp8Sites][i % kNumFp8Sites].effect =
            effects_->rows(first, kFp8EffectNumbers);
    }
}

void Fp8Monitor::begin_step(Kernels& kernels, Stream& stream) {
    if (observes()) kernels.run(FillZero{effects_}, stream);
}

void Fp8Monitor::queue_download(Device& device, Stream& stream) {
    if (observes()) device.download(effects_, seen_.data(), stream);
}

std::vector<Fp8Tensor> Fp8Monitor::tensors() const {
    std::vector<Fp8Tensor> tensors;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        if (seen_[i].nonzero + seen_[i].nonfinite == 0) continue;
        tensors.push_back({static_cast<std::int64_t>(i / kNumFp8Sites),
                           static_cast<Fp8Site>(i % kNumFp8Sites), seen_[i]});
    }
    return tensors;
}

std::vector<Fp8Tensor> Fp8Monitor::beyond(const Fp8Limits& limits) const {
    std::vector<Fp8Tensor> found;
    for (const Fp8Tensor& tensor : tensors()) {
        if (excess(tensor.effect, limits) <= 1) continue;
        const bool same_layer = !found.empty() && found.back().layer == tensor.layer;
        if (!same_layer) found.push_back(tensor);
        if (excess(tensor.effect, limits) > excess(found.back().effect, limits))
            found.back() = tensor;
    }
    return found;
}

std::string breach_text(const Fp8Effect& effect, const Fp8Limits& limits) {
    if (limits.saturated < 1 && saturated_share(effect) > limits.saturated) {
        return format(
            "{:.1} % of its numbers are too large for their scale (fp8.max_saturated: {:.1} %)",
            100 * saturated_share(effect), 100 * limits.saturated);
    }
    return format("{:.1} % of its numbers become 0 (fp8.max_flushed: {:.1} %)",
                  100 * flushed_share(effect), 100 * limits.flushed);
}

std::int64_t Fp8Fallback::num_in_bf16(std::int64_t step) const {
    return std::count_if(stays_.until.begin(), stays_.until.end(),
                         [step](std::int64_t until) { return step <= until; });
}

std::int64_t Fp8Fallback::fall_back(std::int64_t layer, std::int64_t step,
                                    std::int64_t first_steps) {
    std::int64_t &until = stays_.until[usize(layer)], &steps = stays_.steps[usize(layer)];
    const bool relapses = step <= until + steps;
    steps = relapses ? 2 * steps : first_steps;
    until = step + steps;
    ++count_;
    return until;
}

void Fp8Fallback::restore(const Stays& stays) {
    if (stays.until.size() == num_layers_) stays_.until = stays.until;
    if (stays.steps.size() == num_layers_) stays_.steps = stays.steps;
}

void Fp8Fallback::forget() {
    stays_.until.assign(num_layers_, 0);
    stays_.steps.assign(num_layers_, 0);
}

Fp8Sites::Fp8Sites(Device& device, const LinearPrecision& precision, std::int64_t num_layers)
    : layers_(usize(num_layers)),
      history_(device, precision, layers_),
      monitor_(device, precision, layers_),
      fallback_(num_layers) {
    if (precision.scaling != Fp8LinearScaling::blocks) return;
    for (LayerFp8Sites& sites : layers_) {
        for (Fp8Scaling& site : sites)
            site.scaling = Scaling::blocks;
    }
}

void Fp8Sites::begin_step(Kernels& kernels, Stream& stream) {
    history_.begin_step(kernels, stream);
    monitor_.begin_step(kernels, stream);
}

}  // namespace rm
