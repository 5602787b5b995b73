#pragma once

#include <string_view>

#include "base/check.h"
#include "kernels/bf16.h"
#include "kernels/tensor.h"

// An element of either type that cpu computes in, as a float.
namespace rm::cpu {

inline float value_of(float x) {
    return x;
}
inline float value_of(Bf16 x) {
    return from_bf16(x);
}
inline void set(float& x, float value) {
    x = value;
}
inline void set(Bf16& x, float value) {
    x = to_bf16(value);
}

// visit.operator()<the type of elements that cpu computes in>()
template <typename Visit>
void with_element(std::string_view op, DType dtype, const Visit& visit) {
    if (dtype == DType::f32) return visit.template operator()<float>();
    RM_CHECK(dtype == DType::bf16, "{}: cpu computes in f32 or bf16, not in {}", op,
             to_string(dtype));
    visit.template operator()<Bf16>();
}

}  // namespace rm::cpu
