#pragma once

#include "kernels/cpu/simd/vec.h"

// Tiles of a matrix unit as Intel's AMX has them: eight, each of 16 rows of 64 bytes, which are 16
// f32 or 16 pairs of bf16 (Intel SDM, volume 2: TILELOADD, TDPBF16PS, TILESTORED). Where
// RM_AMX is defined these are the instructions; elsewhere a model of them that any CPU runs, so
// that everything around them is tested everywhere.
namespace rm::RM_SIMD {

constexpr std::ptrdiff_t kSide = 16;         // rows of a tile; f32 or pairs of a row
constexpr std::ptrdiff_t kStep = 2 * kSide;  // bf16 numbers that one product sums over

#if defined(RM_AMX)
// Configures the calling thread's tiles for as long as it lives.
class TileUnit {
public:
    TileUnit() {
        struct alignas(64) {
            std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
            std::uint16_t row_bytes[16] = {};
            std::uint8_t rows[16] = {};
        } config;
        for (int tile = 0; tile < 8; ++tile) {
            config.row_bytes[tile] = 4 * kSide;
            config.rows[tile] = kSide;
        }
        asm volatile("ldtilecfg %0" ::"m"(config));
    }
    ~TileUnit() { asm volatile("tilerelease" ::: "memory"); }
    TileUnit(const TileUnit&) = delete;
    TileUnit& operator=(const TileUnit&) = delete;

    template <int tile>
    inline __attribute__((always_inline)) void clear() {
        asm volatile("tilezero %%tmm%c0" ::"i"(tile));
    }
    // Rows are `stride` 32-bit units apart.
    template <int tile>
    inline __attribute__((always_inline)) void load(const float* from, std::ptrdiff_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(4 * stride), "i"(tile)
                     : "memory");
    }
    template <int tile>
    inline __attribute__((always_inline)) void store(float* to, std::ptrdiff_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(4 * stride), "i"(tile)
                     : "memory");
    }
    // Tile c += tile a (rows of pairs) x tile b (one row of pairs per pair of the depth).
    template <int c, int a, int b>
    inline __attribute__((always_inline)) void multiply() {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
    }
};
#else
class TileUnit {
public:
    template <int tile>
    void clear() {
        __builtin_memset(tiles_[tile], 0, sizeof(tiles_[tile]));
    }
    template <int tile>
    void load(const float* from, std::ptrdiff_t stride) {
        for (std::ptrdiff_t row = 0; row < kSide; ++row)
            __builtin_memcpy(tiles_[tile][row], from + row * stride, sizeof(tiles_[tile][row]));
    }
    template <int tile>
    void store(float* to, std::ptrdiff_t stride) {
        for (std::ptrdiff_t row = 0; row < kSide; ++row)
            __builtin_memcpy(to + row * stride, tiles_[tile][row], sizeof(tiles_[tile][row]));
    }
    // The first numbers of all pairs are summed in one chain, the second ones in another; both then
    // go to what the tile held. Denormal numbers count as zero, before and after.
    template <int c, int a, int b>
    void multiply() {
        for (std::ptrdiff_t row = 0; row < kSide; ++row) {
            float first[kSide] = {}, second[kSide] = {};
            for (std::ptrdiff_t k = 0; k < kSide; ++k) {
                const std::uint32_t pair = tiles_[a][row][k];
                for (std::ptrdiff_t n = 0; n < kSide; ++n) {
                    const std::uint32_t other = tiles_[b][k][n];
                    first[n] = flushed(first[n] + low(pair) * low(other));
                    second[n] = flushed(second[n] + high(pair) * high(other));
                }
            }
            for (std::ptrdiff_t n = 0; n < kSide; ++n) {
                std::uint32_t& to = tiles_[c][row][n];
                to = bits_of(flushed(number(to) + flushed(first[n] + second[n])));
            }
        }
    }

private:
    static float number(std::uint32_t bits) {
        float value;
        __builtin_memcpy(&value, &bits, sizeof(value));
        return value;
    }
    static std::uint32_t bits_of(float value) {
        std::uint32_t bits;
        __builtin_memcpy(&bits, &value, sizeof(bits));
        return bits;
    }
    static float flushed(float value) {
        const std::uint32_t bits = bits_of(value);
        return number((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
    }
    static float low(std::uint32_t pair) { return flushed(number(pair << 16)); }
    static float high(std::uint32_t pair) { return flushed(number(pair & 0xffff0000u)); }

    std::uint32_t tiles_[8][kSide][kSide];
};
#endif

// A matrix in memory, in 32-bit units. Left operands have rows of pairs; right operands have a row
// per pair of the depth.
struct Units {
    const float* at = nullptr;
    std::ptrdiff_t stride = 0;
};
struct Steps {
    std::ptrdiff_t first = 0, last = 0;  // of kStep numbers each
};

enum class Sums { from_zero, onto_c };

// c (16 rows, 16 columns) = or += a b, sides in tiles: 1 or 2.
template <int rows, int columns>
RM_INLINE void tile_block(TileUnit& unit, Units a, Units b, Steps steps, float* c,
                          std::ptrdiff_t c_stride, Sums sums) {
    constexpr bool down = rows == 2, across = columns == 2;
    float* const c2 = c + kSide * c_stride;
    if (sums == Sums::from_zero) {
        unit.clear<0>();
        if (across) unit.clear<1>();
        if (down) unit.clear<2>();
        if (down && across) unit.clear<3>();
    } else {
        unit.load<0>(c, c_stride);
        if (across) unit.load<1>(c + kSide, c_stride);
        if (down) unit.load<2>(c2, c_stride);
        if (down && across) unit.load<3>(c2 + kSide, c_stride);
    }
    for (std::ptrdiff_t s = steps.first; s < steps.last; ++s) {
        const float* left = a.at + s * kSide;
        const float* right = b.at + s * kSide * b.stride;
        unit.load<4>(left, a.stride);
        unit.load<6>(right, b.stride);
        unit.multiply<0, 4, 6>();
        if (across) {
            unit.load<7>(right + kSide, b.stride);
            unit.multiply<1, 4, 7>();
        }
        if (down) {
            unit.load<5>(left + kSide * a.stride, a.stride);
            unit.multiply<2, 5, 6>();
        }
        if (down && across) unit.multiply<3, 5, 7>();
    }
    unit.store<0>(c, c_stride);
    if (across) unit.store<1>(c + kSide, c_stride);
    if (down) unit.store<2>(c2, c_stride);
    if (down && across) unit.store<3>(c2 + kSide, c_stride);
}

}  // namespace rm::RM_SIMD
