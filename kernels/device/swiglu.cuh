#pragma once

#include "kernels/device/vectors.h"

// SwiGLU (Shazeer, 2020): h = silu(gate) * up, with silu(x) = x sigmoid(x). kWidth elements are
// moved at a time; what is left over at the end goes one by one.
namespace rm::device {

SIMT_FN float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

struct SwigluForwardParams {
    const std::uint16_t* gate;  // bf16, as all
    const std::uint16_t* up;
    std::uint16_t* h;
    std::int64_t count;
};

template <int kWidth>
struct SwigluForward {
    static constexpr const char* kName = kWidth == 1 ? "swiglu_fwd_unaligned" : "swiglu_fwd";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 6;
    struct Shared {};
    using Params = SwigluForwardParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
            constexpr int kCount = decltype(width)::value;
            float gate[kCount], up[kCount];
            load(p.gate + at, gate);
            load(p.up + at, up);
            SIMT_UNROLL
            for (int i = 0; i < kCount; ++i)
                gate[i] = gate[i] * sigmoid(gate[i]) * up[i];
            store(p.h + at, gate);
        });
    }
};

struct SwigluBackwardParams {
    const std::uint16_t* d_h;  // bf16, as all
    const std::uint16_t* gate;
    const std::uint16_t* up;
    std::uint16_t* d_gate;
    std::uint16_t* d_up;
    std::int64_t count;
};

// d_up = d_h silu(gate); d_gate = d_h up silu'(gate). d_gate may be d_h: a thread has read what it
// writes.
template <int kWidth>
struct SwigluBackward {
    static constexpr const char* kName = kWidth == 1 ? "swiglu_bwd_unaligned" : "swiglu_bwd";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    struct Shared {};
    using Params = SwigluBackwardParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
            constexpr int kCount = decltype(width)::value;
            float d_h[kCount], gate[kCount], up[kCount];
            load(p.d_h + at, d_h);
            load(p.gate + at, gate);
            load(p.up + at, up);
            SIMT_UNROLL
            for (int i = 0; i < kCount; ++i) {
                const float s = sigmoid(gate[i]);
                up[i] = d_h[i] * up[i] * (s + gate[i] * s * (1 - s));
                gate[i] = d_h[i] * gate[i] * s;
            }
            store(p.d_gate + at, up);
            store(p.d_up + at, gate);
        });
    }
};

}  // namespace rm::device
