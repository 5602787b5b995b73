#include "engine/model/linears/fp8_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rm {

Fp8History::Fp8History(Device& device, const LinearPrecision& precision,
                       std::vector<LayerFp8Sites>& layers)
    : precision_(precision), layers_(layers) {
    if (precision.scaling != Fp8LinearScaling::delayed) return;
    const auto sites = static_cast<std::int64_t>(layers.size() * kNumFp8Sites);
    steps_.resize(usize(sites));
    host_scales_.resize(usize(sites * kScaleStride), 1.0f);
    scales_ = Tensor(device, MemoryKind::workspace, DType::f32, {sites * kScaleStride});
    largest_ = Tensor(device, MemoryKind::workspace, DType::f32, {sites});
    for (std::int64_t site = 0; site < sites; ++site) {
        Fp8Scaling& view = layers_[usize(site) / kNumFp8Sites][usize(site) % kNumFp8Sites];
        view.scale = scales_->rows(site * kScaleStride, 1);
        view.largest = largest_->rows(site, 1);
        if (precision.has_history) view.scaling = Scaling::given;
    }
}

void Fp8History::begin_step(Kernels& kernels, Stream& stream) {
    if (!delayed()) return;
    kernels.device().upload(host_scales_.data(), scales_, stream);
    kernels.run(FillZero{largest_}, stream);
}

void Fp8History::end_step(std::span<const float> largest_of_ranks) {
    if (!delayed()) return;
    const std::size_t sites = steps_.size();
    for (std::size_t site = 0; site < sites; ++site) {
        float largest = 0;
        for (std::size_t i = site; i < largest_of_ranks.size(); i += sites)
            largest = std::max(largest, largest_of_ranks[i]);
        if (!std::isfinite(largest) || largest == 0) continue;
        std::vector<float>& steps = steps_[site];
        if (steps.size() == kHistory) steps.erase(steps.begin());
        steps.push_back(largest);
    }
    set_scales();
}

void Fp8History::forget() {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
        forget(static_cast<std::int64_t>(layer));
}

void Fp8History::forget(std::int64_t layer) {
    if (!delayed()) return;
    for (std::size_t site = 0; site < kNumFp8Sites; ++site) {
        steps_[usize(layer) * kNumFp8Sites + site].clear();
        layers_[usize(layer)][site].scaling =
            precision_.has_history ? Scaling::given : Scaling::current;
    }
}

void Fp8History::set_scales() {
    for (std::size_t site = 0; site < steps_.size(); ++site) {
        const std::vector<float>& steps = steps_[site];
        if (steps.empty()) continue;
        const auto which = static_cast<Fp8Site>(site % kNumFp8Sites);
        const Fp8 format = is_gradient(which) ? precision_.gradients : Fp8::e4m3;
        const float largest = *std::max_element(steps.begin(), steps.end());
        host_scales_[site * usize(kScaleStride)] = 1 / fp8_scale(format, largest);
        layers_[site / kNumFp8Sites][site % kNumFp8Sites].scaling = Scaling::given;
    }
}

void Fp8History::restore(std::vector<std::vector<float>> steps) {
    if (steps.size() != steps_.size()) return;
    steps_ = std::move(steps);
    set_scales();
}

}  // namespace rm
