#pragma once

#include <vector>

#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/elements.h"

// Tiles that attention in 8 bits rounds.
namespace rm::cpu {

constexpr std::string_view kAttention8 = "attention in 8 bits";

// One head of a tile of x (tokens, heads, D), as f32 (count, D).
inline std::vector<float> widened(const TensorView& x, const RunTile& tile, std::int64_t head) {
    const std::int64_t heads = x.dim(1), D = x.dim(2);
    std::vector<float> numbers(usize(tile.count * D));
    with_element(kAttention8, x.dtype(), [&]<typename E>() {
        for (std::int64_t row = 0; row < tile.count; ++row) {
            const E* from = x.as<E>() + ((tile.token + row) * heads + head) * D;
            for (std::int64_t d = 0; d < D; ++d)
                numbers[usize(row * D + d)] = value_of(from[d]);
        }
    });
    return numbers;
}

// Likewise, rounded by round(numbers), in the type of x.
class RoundedTile {
public:
    template <typename Round>
    RoundedTile(const TensorView& x, const RunTile& tile, std::int64_t head, const Round& round)
        : count_(tile.count), D_(x.dim(2)) {
        std::vector<float> numbers = widened(x, tile, head);
        round(numbers);
        data_.resize(numbers.size() * usize(size_of(x.dtype())));
        with_element(kAttention8, x.dtype(), [&]<typename E>() {
            auto* to = reinterpret_cast<E*>(data_.data());
            for (const float number : numbers)
                set(*to++, number);
        });
    }
    simd::AttentionTokens tokens() const { return {data_.data(), D_, count_, D_}; }

private:
    std::int64_t count_, D_;
    std::vector<std::byte> data_;
};

}  // namespace rm::cpu
