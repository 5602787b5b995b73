#include "engine/model/weights.h"

#include <cstring>

#include "base/random.h"

namespace rm {
namespace {

template <typename T>
void fill_normal(const TensorView& out, double std, std::uint64_t seed, std::uint64_t stream) {
    T* data = out.as<T>();
    for (std::int64_t i = 0; i < out.num_elements(); ++i) {
        data[i] = static_cast<T>(
            std == 0 ? 1.0 : std * normal_at(seed, stream, static_cast<std::uint64_t>(i)));
    }
}

}  // namespace

Weights::Weights(Kernels& kernels, const ModelConfig& model)
    : table_(make_parameters(model)),
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
        std::memset((*flat)->data(), 0, (*flat)->bytes().size());
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
    for (int i = 0; i < static_cast<int>(table_.all.size()); ++i) {
        const double std = table_.all[static_cast<std::size_t>(i)].init_std;
        const TensorView out = weight(i);
        const auto stream = static_cast<std::uint64_t>(i);
        if (out.dtype() == DType::f64) {
            // Rounded to f32, so that every backend starts from the same numbers.
            fill_normal<double>(out, std, seed, stream);
            double* data = out.as<double>();
            for (std::int64_t j = 0; j < out.num_elements(); ++j)
                data[j] = static_cast<float>(data[j]);
        } else {
            fill_normal<float>(out, std, seed, stream);
        }
        std::memset(moment1(i).data(), 0, moment1(i).bytes().size());
        std::memset(moment2(i).data(), 0, moment2(i).bytes().size());
    }
}

void Weights::prepare(const Ops& ops) {
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
        if (!prepared_[i]) continue;
        ops.kernels().prepare(weight(static_cast<int>(i)), *prepared_[i], ops.stream());
    }
}

}  // namespace rm
