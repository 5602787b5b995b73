#include "engine/model/weights.h"

#include "base/random.h"
#include "kernels/host_blocks.h"

namespace rm {
namespace {

// Elements first, first + 1, ... of a parameter. Rounded to f32 whatever T is, so that every
// backend starts from the same numbers.
template <typename T>
void fill_normal(const TensorView& out, std::int64_t first, double std, std::uint64_t seed,
                 std::uint64_t stream) {
    T* data = out.as<T>();
    for (std::int64_t i = 0; i < out.num_elements(); ++i) {
        const auto element = static_cast<std::uint64_t>(first + i);
        data[i] = static_cast<float>(std == 0 ? 1.0 : std * normal_at(seed, stream, element));
    }
}

}  // namespace

Weights::Weights(Kernels& kernels, const ModelConfig& model)
    : device_(kernels.device()),
      table_(make_parameters(model)),
      weights_(kernels.device(), MemoryKind::weights, kernels.types().master,
               {table_.num_elements}),
      grads_(kernels.device(), MemoryKind::gradients, kernels.types().accum, {table_.num_elements}),
      moments1_(kernels.device(), MemoryKind::optimizer, kernels.types().accum,
                {table_.num_elements}),
      moments2_(kernels.device(), MemoryKind::optimizer, kernels.types().accum,
                {table_.num_elements}),
      prepared_(table_.all.size()) {
    for (const LayerParameters& p : table_.layers) {
        layers_.push_back({norm_weight(p.attention_norm), linear_weight(kernels, p.q),
                           linear_weight(kernels, p.k), linear_weight(kernels, p.v),
                           linear_weight(kernels, p.o), norm_weight(p.mlp_norm),
                           linear_weight(kernels, p.gate), linear_weight(kernels, p.up),
                           linear_weight(kernels, p.down)});
    }
    embedding_ = weight(table_.embedding);
    embedding_grad_ = grad(table_.embedding);
    final_norm_ = norm_weight(table_.final_norm);
    head_ = linear_weight(kernels, table_.head);
    // Padding between parameters is summed, squared and saved with the rest: it must be zero.
    for (const Tensor* flat : {&weights_, &grads_, &moments1_, &moments2_}) {
        kernels.device().zero(*flat);
    }
}

void Weights::prefetch(int /*layer*/) {}

const LayerWeights& Weights::acquire(int layer) {
    return layers_[static_cast<std::size_t>(layer)];
}

void Weights::release(int /*layer*/) {}

TensorView Weights::view(const Tensor& flat, int parameter) const {
    const Parameter& p = table_.all[static_cast<std::size_t>(parameter)];
    const TensorView part = flat->rows(p.first, p.num_elements());
    return p.shape.size() == 1 ? part : part.reshaped({p.shape[0], p.shape[1]});
}

NormWeight Weights::norm_weight(int parameter) const {
    return {weight(parameter), grad(parameter)};
}

LinearWeight Weights::linear_weight(Kernels& kernels, int parameter) {
    const Parameter& p = table_.all[static_cast<std::size_t>(parameter)];
    auto& prepared = prepared_[static_cast<std::size_t>(parameter)];
    prepared = kernels.make_prepared(p.shape[0], p.shape[1]);
    return {prepared.get(), grad(parameter)};
}

void Weights::initialize(std::uint64_t seed) {
    HostBlocks blocks(device_);
    const auto fill = weights_->dtype() == DType::f64 ? fill_normal<double> : fill_normal<float>;
    for (int i = 0; i < static_cast<int>(table_.all.size()); ++i) {
        const double std = table_.all[static_cast<std::size_t>(i)].init_std;
        const Status filled =
            blocks.write(weight(i), [&](std::int64_t first, const TensorView& block) {
                fill(block, first, std, seed, static_cast<std::uint64_t>(i));
                return Status();
            });
        RM_CHECK(filled.ok(), "{}", filled.error().message);
    }
    zero_moments();
}

void Weights::zero_moments() {
    device_.zero(moments1_);
    device_.zero(moments2_);
}

void Weights::prepare(const Ops& ops) {
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
        if (!prepared_[i]) continue;
        ops.kernels().prepare(weight(static_cast<int>(i)), *prepared_[i], ops.stream());
    }
}

}  // namespace rm
