#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/words.h"
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
constexpr auto vocabulary_of(Fp8Site) {
    return vocabulary<Fp8Site>("tensor", {{Fp8Site::attention_input, "attention_input"},
                                          {Fp8Site::attention_output, "attention_output"},
                                          {Fp8Site::mlp_input, "mlp_input"},
                                          {Fp8Site::mlp_hidden, "mlp_hidden"},
                                          {Fp8Site::d_query, "d_query"},
                                          {Fp8Site::d_key, "d_key"},
                                          {Fp8Site::d_value, "d_value"},
                                          {Fp8Site::d_attention, "d_attention"},
                                          {Fp8Site::d_gate, "d_gate"},
                                          {Fp8Site::d_up, "d_up"},
                                          {Fp8Site::d_mlp, "d_mlp"}});
}
constexpr bool is_gradient(Fp8Site site) {
    return site >= Fp8Site::d_query;
}

// How the tensors of a site are scaled in this step, and where what is seen of them goes.
struct Fp8Scaling {
    Scaling scaling = Scaling::current;
    TensorView scale;    // (1) f32: of given scaling
    TensorView largest;  // (1) f32: gathers the largest number of the step; or empty
    TensorView effect;   // an Fp8Effect of the step; or empty
};
// In the order of Fp8Site.
using LayerFp8Sites = std::array<Fp8Scaling, kNumFp8Sites>;

}  // namespace rm
