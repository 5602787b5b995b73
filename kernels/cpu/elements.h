#pragma once

#include "kernels/bf16.h"

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

}  // namespace rm::cpu
