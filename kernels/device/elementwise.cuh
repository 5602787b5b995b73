#pragma once

#include "kernels/device/vectors.h"

// Filling, copying, adding, SwiGLU: what is limited by memory alone. kWidth elements are moved at a
// time; what is left over at the end goes one by one.
namespace rm::device {

struct FillZeroParams {
    std::uint16_t* x;
    std::int64_t count;
};
// Fills any type, as pairs of bytes.
template <int kWidth>
struct FillZeroes : PlainKernel<256, 6> {
    static constexpr const char* kName = kWidth == 1 ? "fill_zero_unaligned" : "fill_zero";
    using Params = FillZeroParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
            const float zeros[decltype(width)::value] = {};
            store(p.x + at, zeros);
        });
    }
};

struct CopyBitsParams {
    const std::uint16_t* from;
    std::uint16_t* to;
    std::int64_t count;
};
// From and to the same type, whichever it is, as pairs of bytes.
template <int kWidth>
struct CopyBits : PlainKernel<256, 6> {
    static constexpr const char* kName = kWidth == 1 ? "copy_unaligned" : "copy";
    using Params = CopyBitsParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
            using Bits = Words<std::uint16_t, decltype(width)::value>;
            *reinterpret_cast<Bits*>(p.to + at) = *reinterpret_cast<const Bits*>(p.from + at);
        });
    }
};

template <typename From, typename To>
struct ConvertParams {
    const From* from;
    To* to;
    std::int64_t count;
};
// By way of f32. bf16 is std::uint16_t.
template <typename From, typename To>
struct Convert {
    template <int kWidth>
    struct Kernel : PlainKernel<256, 6> {
        static constexpr const char* kName = kWidth == 1 ? "convert_unaligned" : "convert";
        using Params = ConvertParams<From, To>;

        SIMT_FN static void run(const Params& p, Shared&) {
            for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
                float x[decltype(width)::value];
                load(p.from + at, x);
                store(p.to + at, x);
            });
        }
    };
};

template <typename X, typename Y>
struct AddParams {
    const X* x;
    Y* y;
    std::int64_t count;
};
// y += x, in f32; bf16 is std::uint16_t.
template <typename X, typename Y>
struct Add {
    template <int kWidth>
    struct Kernel : PlainKernel<256, 6> {
        static constexpr const char* kName = kWidth == 1 ? "add_unaligned" : "add";
        using Params = AddParams<X, Y>;

        SIMT_FN static void run(const Params& p, Shared&) {
            for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
                constexpr int kCount = decltype(width)::value;
                float x[kCount], y[kCount];
                load(p.x + at, x);
                load(p.y + at, y);
                SIMT_UNROLL
                for (int i = 0; i < kCount; ++i)
                    y[i] += x[i];
                store(p.y + at, y);
            });
        }
    };
};

// SwiGLU (Shazeer, 2020): h = silu(gate) * up, with silu(x) = x sigmoid(x).
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
struct SwigluForward : PlainKernel<256, 6> {
    static constexpr const char* kName = kWidth == 1 ? "swiglu_fwd_unaligned" : "swiglu_fwd";
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
struct SwigluBackward : PlainKernel<256, 4> {
    static constexpr const char* kName = kWidth == 1 ? "swiglu_bwd_unaligned" : "swiglu_bwd";
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
