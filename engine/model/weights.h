#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/model/ops.h"
#include "engine/model/parameters.h"
#include "kernels/kernels.h"

namespace rm {

struct LinearWeight {
    const PreparedWeight* prepared = nullptr;
    TensorView grad;  // (N, K) accum
};
struct NormWeight {
    TensorView weight;  // (C) master
    TensorView grad;    // (C) accum
};
struct LayerWeights {
    NormWeight attention_norm;
    LinearWeight q, k, v, o;
    NormWeight mlp_norm;
    LinearWeight gate, up, down;
};

// All parameters of one rank with gradients, both moments and prepared forms. A layer's weights are
// reached by prefetch / acquire / release: a block does not know where they come from (here they
// are resident, so prefetch and release have nothing to do).
class Weights {
public:
    Weights(Kernels& kernels, const ModelConfig& model);

    void prefetch(int layer);
    const LayerWeights& acquire(int layer);
    void release(int layer);

    const TensorView& embedding() const { return embedding_; }            // (V, C) master
    const TensorView& embedding_grad() const { return embedding_grad_; }  // (V, C) accum
    const NormWeight& final_norm() const { return final_norm_; }
    const LinearWeight& head() const { return head_; }

    const ParameterTable& table() const { return table_; }
    TensorView weight(int parameter) const { return view(weights_, parameter); }
    TensorView grad(int parameter) const { return view(grads_, parameter); }
    TensorView moment1(int parameter) const { return view(moments1_, parameter); }
    TensorView moment2(int parameter) const { return view(moments2_, parameter); }
    const TensorView& all_grads() const { return grads_; }  // flat

    Device& device() const { return device_; }

    // Host side, while no work is queued. Values depend on (seed, parameter, element) only.
    void initialize(std::uint64_t seed);
    void zero_moments();
    // Queues: refreshes every prepared weight from the master copy.
    void prepare(const Ops& ops);

private:
    TensorView view(const Tensor& flat, int parameter) const;
    NormWeight norm_weight(int parameter) const;
    LinearWeight linear_weight(Kernels& kernels, int parameter);

    Device& device_;
    ParameterTable table_;
    Tensor weights_;                                         // (num_elements) master
    Tensor grads_;                                           // accum
    Tensor moments1_;                                        // accum
    Tensor moments2_;                                        // accum
    std::vector<std::unique_ptr<PreparedWeight>> prepared_;  // by parameter; null for norms
    std::vector<LayerWeights> layers_;
    TensorView embedding_;
    TensorView embedding_grad_;
    NormWeight final_norm_;
    LinearWeight head_;
};

}  // namespace rm
