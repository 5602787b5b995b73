#pragma once

#include <type_traits>

#include "kernels/device/vectors.h"

// Tensors cut over ranks: moving some heads, and sums of parts. f32 and bf16, which is
// std::uint16_t; sums are f32 and are rounded once.
namespace rm::device {

template <typename From, typename To>
struct MoveHeadsParams {
    const From* from;  // the first head of the first token
    To* to;            // likewise
    std::int64_t tokens;
    std::int64_t width;      // elements of a token that are moved
    std::int64_t from_step;  // elements from a token to the next
    std::int64_t to_step;
    bool add;
};
template <typename From, typename To>
struct MoveHeads {
    template <int kWidth>
    struct Kernel : PlainKernel<256, 4> {
        static constexpr const char* kName = kWidth == 1 ? "copy_heads_unaligned" : "copy_heads";
        using Params = MoveHeadsParams<From, To>;

        SIMT_FN static void run(const Params& p, Shared&) {
            const std::int64_t per_token = p.width / kWidth;
            for_each<kThreads>(p.tokens * per_token, [&](std::int64_t i) {
                const std::int64_t t = i / per_token, at = (i - t * per_token) * kWidth;
                move(p.from + t * p.from_step + at, p.to + t * p.to_step + at, p.add);
            });
        }

    private:
        SIMT_FN static void move(const From* from, To* to, bool add) {
            if constexpr (std::is_same_v<From, std::uint16_t> && std::is_same_v<From, To>) {
                // Bits that are only moved stay what they are.
                if (!add) {
                    *reinterpret_cast<Packed<kWidth>*>(to) = load_packed<kWidth>(from);
                    return;
                }
            }
            float x[kWidth];
            load(from, x);
            if (add) add_to(to, x);
            store(to, x);
        }
        SIMT_FN static void add_to(const To* to, float (&x)[kWidth]) {
            float y[kWidth];
            load(to, y);
            SIMT_UNROLL
            for (int j = 0; j < kWidth; ++j)
                x[j] = y[j] + x[j];
        }
    };
};

template <typename T>
struct SumPartsParams {
    const T* parts;  // (num_parts, count)
    T* y;            // (count)
    std::int64_t count;
    int num_parts;
    bool add;
};
template <typename T>
struct SumOfParts {
    template <int kWidth>
    struct Kernel : PlainKernel<256, 4> {
        static constexpr const char* kName = kWidth == 1 ? "sum_parts_unaligned" : "sum_parts";
        using Params = SumPartsParams<T>;

        SIMT_FN static void run(const Params& p, Shared&) {
            for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
                constexpr int kCount = decltype(width)::value;
                float sum[kCount];
                load(p.add ? p.y + at : p.parts + at, sum);
                for (int g = p.add ? 0 : 1; g < p.num_parts; ++g) {
                    float x[kCount];
                    load(p.parts + g * p.count + at, x);
                    SIMT_UNROLL
                    for (int j = 0; j < kCount; ++j)
                        sum[j] += x[j];
                }
                store(p.y + at, sum);
            });
        }
    };
};

}  // namespace rm::device
