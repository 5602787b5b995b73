#include "engine/model/activations.h"

#include <numeric>

namespace rm {
namespace {

class Maker {
public:
    explicit Maker(Kernels& kernels) : kernels_(kernels) {}
    Tensor compute(std::initializer_list<std::int64_t> shape) const {
        return {kernels_.device(), MemoryKind::activations, kernels_.types().compute, shape};
    }
    Tensor accum(std::initializer_list<std::int64_t> shape) const {
        return {kernels_.device(), MemoryKind::activations, kernels_.types().accum, shape};
    }

private:
    Kernels& kernels_;
};

}  // namespace

RankShapes::RankShapes(const ModelConfig& model, const RankLayout& layout)
    : T(layout.local_tokens),
      Ts(layout.local_tokens / layout.tensor),
      S(layout.slot_tokens),
      tile(layout.max_tile),
      C(model.hidden),
      F(model.feed_forward / layout.tensor),
      D(model.head_dim),
      Hq(model.num_query_heads / layout.tensor),
      Hk(head_share(model, layout.tensor, layout.tensor_index).kv_count),
      attended_q(Hq / layout.ulysses) {
    // The longest runs of query heads that never straddle two key-value heads, whichever rank.
    attended_kv = attended_q / std::gcd(attended_q, model.num_query_heads / model.num_kv_heads);
}

Scratch::Scratch(Kernels& kernels, const RankShapes& s, int tensor) {
    const Maker make(kernels);
    x_mid = make.compute({s.tile / tensor, s.C});
    rstd = make.accum({s.tile / tensor});
    gate = make.compute({s.tile, s.F});
    up = make.compute({s.tile, s.F});
    h = make.compute({s.tile, s.F});
    d_h = make.compute({s.tile, s.F});
    d_up = make.compute({s.tile, s.F});
    d_q = make.compute({s.tile, s.Hq, s.D});
    d_k = make.compute({s.tile, s.Hk, s.D});
    d_v = make.compute({s.tile, s.Hk, s.D});
}

}  // namespace rm
