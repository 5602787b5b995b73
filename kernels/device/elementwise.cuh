#pragma once

#include "kernels/device/vectors.h"

// Filling, copying, adding: what is limited by memory alone.
namespace rm::device {

struct FillZeroParams {
    std::uint16_t* x;
    std::int64_t count;
};
// Fills any type, as pairs of bytes.
template <int kWidth>
struct FillZeroes {
    static constexpr const char* kName = kWidth == 1 ? "fill_zero_unaligned" : "fill_zero";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 6;
    struct Shared {};
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
struct CopyBits {
    static constexpr const char* kName = kWidth == 1 ? "copy_unaligned" : "copy";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 6;
    struct Shared {};
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
    struct Kernel {
        static constexpr const char* kName = kWidth == 1 ? "convert_unaligned" : "convert";
        static constexpr int kThreads = 256;
        static constexpr int kMinBlocks = 6;
        struct Shared {};
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

template <typename T>
struct AddParams {
    const T* x;
    T* y;
    std::int64_t count;
};
// y += x; bf16 is std::uint16_t.
template <typename T>
struct Add {
    template <int kWidth>
    struct Kernel {
        static constexpr const char* kName = kWidth == 1 ? "add_unaligned" : "add";
        static constexpr int kThreads = 256;
        static constexpr int kMinBlocks = 6;
        struct Shared {};
        using Params = AddParams<T>;

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

}  // namespace rm::device
