#include "kernels/simt/simt_emu.h"

#include <array>
#include <cstring>

#include "kernels/simt/block.h"

namespace rm::simt {
namespace {

struct Offer {
    std::uint64_t value;
    int from;
};

void exchange_values(const Slots& in, Slots& out) {
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
        const auto from = static_cast<std::size_t>(load<Offer>(in[lane]).from);
        store(out[lane], load<Offer>(in[from]).value);
    }
}

void count_votes(const Slots& in, Slots& out) {
    std::uint32_t votes = 0;
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane)
        votes |= static_cast<std::uint32_t>(load<bool>(in[lane])) << lane;
    for (Slot& slot : out)
        store(slot, votes);
}

using Registers = std::array<std::uint32_t, 4>;

// PTX ISA, "ldmatrix": lanes 8i .. 8i+7 name the rows of tile i; lane l gets, of every tile,
// elements (l / 4, 2 (l % 4)) and the next one, or of the transposed tile.
template <bool kTransposed>
void scatter_tiles(const Slots& in, Slots& out) {
    std::uint16_t tiles[4][8][8];
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
        const auto row = load<detail::Row16>(in[lane]);
        std::memcpy(tiles[lane / 8][lane % 8], row.elements, sizeof(row.elements));
    }
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
        Registers mine{};
        const std::size_t row = lane / 4, column = 2 * (lane % 4);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto& t = tiles[i];
            const std::uint32_t low = kTransposed ? t[column][row] : t[row][column];
            const std::uint32_t high = kTransposed ? t[column + 1][row] : t[row][column + 1];
            mine[i] = low | high << 16;
        }
        store(out[lane], mine);
    }
}

// One lane's part of d = a b + c, summed as Sum.
template <typename Sum>
struct Operands {
    Sum c[4];
    std::uint32_t a[4];
    std::uint32_t b[2];
};
template <typename Sum>
struct Sums {
    Sum d[4];
};

// The formats of mma's operands: elements to a register, their values, and what these are summed
// as.
struct Bf16Operand {
    using Sum = float;
    static constexpr int kPerRegister = 2;
    static float decode(std::uint32_t packed, int i) {
        const std::uint32_t bits = i != 0 ? packed & 0xffff0000u : packed << 16;
        float value;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
};

// The values of all codes of an FP8 format (OCP 8-bit floating point specification, 2023).
template <int kExponentBits, bool kHasInfinity>
constexpr std::array<float, 256> fp8_values() {
    constexpr int kMantissaBits = 7 - kExponentBits, kBias = (1 << (kExponentBits - 1)) - 1;
    constexpr int kTop = (1 << kExponentBits) - 1, kMantissaMask = (1 << kMantissaBits) - 1;
    std::array<float, 256> values{};
    for (int code = 0; code < 256; ++code) {
        const int exponent = code >> kMantissaBits & kTop, mantissa = code & kMantissaMask;
        const int scaled = exponent == 0 ? mantissa : mantissa + kMantissaMask + 1;
        float value = static_cast<float>(scaled);
        for (int e = kBias + kMantissaBits; e > (exponent == 0 ? 1 : exponent); --e)
            value /= 2;
        for (int e = kBias + kMantissaBits; e < exponent; ++e)
            value *= 2;
        if (kHasInfinity && exponent == kTop) value = mantissa == 0 ? HUGE_VALF : NAN;
        if (!kHasInfinity && (code & 0x7f) == 0x7f) value = NAN;
        values[static_cast<std::size_t>(code)] = code < 128 ? value : -value;
    }
    return values;
}
template <int kExponentBits, bool kHasInfinity>
struct Fp8Operand {
    using Sum = float;
    static constexpr int kPerRegister = 4;
    static constexpr std::array<float, 256> kValues = fp8_values<kExponentBits, kHasInfinity>();
    static float decode(std::uint32_t packed, int i) { return kValues[packed >> 8 * i & 0xff]; }
};
using E4m3Operand = Fp8Operand<4, false>;
using E5m2Operand = Fp8Operand<5, true>;

struct Int8Operand {
    using Sum = std::int32_t;
    static constexpr int kPerRegister = 4;
    static std::int32_t decode(std::uint32_t packed, int i) {
        return static_cast<std::int8_t>(packed >> 8 * i);
    }
};

// Eight sums side by side.
template <typename Sum>
struct EightOf {
    typedef Sum Row __attribute__((vector_size(32)));
};

// d += a b of 16 x 8 sums, four rows at a time to keep the adders busy. The order of summation is
// one of those that a GPU may use.
template <typename Sum, int kDepth>
void multiply(Sum (&d)[16][8], const Sum (&a)[16][kDepth], const Sum (&b)[kDepth][8]) {
    using Row8 = typename EightOf<Sum>::Row;
    constexpr int kAtOnce = 4;
    for (int i = 0; i < 16; i += kAtOnce) {
        Row8 sums[kAtOnce] = {};
        for (int k = 0; k < kDepth; ++k) {
            Row8 right;
            std::memcpy(&right, b[k], sizeof(right));
            for (int r = 0; r < kAtOnce; ++r)
                sums[r] += right * a[i + r][k];
        }
        for (int r = 0; r < kAtOnce; ++r) {
            Row8 row;
            std::memcpy(&row, d[i + r], sizeof(row));
            row += sums[r];
            std::memcpy(d[i + r], &row, sizeof(row));
        }
    }
}

// PTX ISA, "mma.m16n8k16" (16-bit elements, E = 2 to a register) and "mma.m16n8k32" (8-bit, E = 4):
// a is 16 x 8E, b 8E x 8, c and d 16 x 8. Lane 4 g + t holds of a rows g and g + 8 at columns E t
// and E t + 4E, of b column g at rows E t and E t + 4E, of c and d rows g and g + 8 at columns 2 t
// and 2 t + 1.
template <typename FormatA, typename FormatB>
void product(const Slots& in, Slots& out) {
    using Sum = typename FormatA::Sum;
    constexpr int kE = FormatA::kPerRegister, kDepth = 8 * kE;
    static_assert(FormatB::kPerRegister == kE);
    Sum a[16][kDepth], b[kDepth][8], d[16][8];
    for (int g = 0; g < 8; ++g) {
        for (int t = 0; t < 4; ++t) {
            const auto x = load<Operands<Sum>>(in[static_cast<std::size_t>(4 * g + t)]);
            for (int half = 0; half < 2; ++half) {
                for (int e = 0; e < kE; ++e) {
                    const int k = kE * t + 4 * kE * half + e;
                    a[g][k] = FormatA::decode(x.a[2 * half], e);
                    a[g + 8][k] = FormatA::decode(x.a[2 * half + 1], e);
                    b[k][g] = FormatB::decode(x.b[half], e);
                }
            }
            std::memcpy(&d[g][2 * t], x.c, 2 * sizeof(Sum));
            std::memcpy(&d[g + 8][2 * t], x.c + 2, 2 * sizeof(Sum));
        }
    }
    multiply(d, a, b);
    for (int g = 0; g < 8; ++g) {
        for (int t = 0; t < 4; ++t) {
            Sums<Sum> mine;
            std::memcpy(mine.d, &d[g][2 * t], 2 * sizeof(Sum));
            std::memcpy(mine.d + 2, &d[g + 8][2 * t], 2 * sizeof(Sum));
            store(out[static_cast<std::size_t>(4 * g + t)], mine);
        }
    }
}

template <typename FormatA, typename FormatB = FormatA>
void mma(const char* name, typename FormatA::Sum (&d)[4], const std::uint32_t (&a)[4],
         const std::uint32_t (&b)[2], const Place& place) {
    using Sum = typename FormatA::Sum;
    Operands<Sum> mine;
    std::memcpy(mine.c, d, sizeof(mine.c));
    std::memcpy(mine.a, a, sizeof(mine.a));
    std::memcpy(mine.b, b, sizeof(mine.b));
    Block& block = current_block();
    const auto got = block.gather<Sums<Sum>>(name, mine, place, [&](const Slots& in, Slots& out) {
        block.count_product();
        product<FormatA, FormatB>(in, out);
    });
    std::memcpy(d, got.d, sizeof(got.d));
}

}  // namespace

void sync_block(const Place& place) {
    current_block().sync(place);
}
void sync_warp(const Place& place) {
    current_block().sync_lanes(place);
}

std::uint64_t detail::exchange(const char* what, std::uint64_t value, int from,
                               const Place& place) {
    return current_block().gather<std::uint64_t>(what, Offer{value, from}, place, &exchange_values);
}

std::uint32_t ballot(bool b, const Place& place) {
    return current_block().gather<std::uint32_t>("ballot", b, place, &count_votes);
}

void detail::issue(const AsyncCopy& copy) {
    const auto from = reinterpret_cast<std::uintptr_t>(copy.from);
    const auto shared = reinterpret_cast<std::uintptr_t>(running.shared);
    if (from % 16 != 0) refuse("cp_async_16", "a source that is not 16-byte aligned", copy.place);
    if (from - shared < running.shared_bytes)
        refuse("cp_async_16", "a source in shared memory", copy.place);
    if (copy.bytes < 0 || copy.bytes > 16)
        refuse("cp_async_16", "a number of bytes outside 0 to 16", copy.place);
    current_block().running().copies.push(copy);
}

bool detail::next_landing(int groups, AsyncCopy& copy) {
    const AsyncCopy* oldest = current_block().running().copies.pop(groups);
    if (oldest == nullptr) return false;
    copy = *oldest;
    return true;
}

void cp_async_commit() {
    current_block().running().copies.commit();
}

void detail::exchange_tiles(std::uint32_t (&r)[4], const Row16& row, bool transposed,
                            const Place& place) {
    const auto got = current_block().gather<Registers>(
        transposed ? "ldmatrix_x4_trans" : "ldmatrix_x4", row, place,
        transposed ? &scatter_tiles<true> : &scatter_tiles<false>);
    std::memcpy(r, got.data(), sizeof(r));
}

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place) {
    mma<Bf16Operand>("mma_bf16", d, a, b, place);
}
void mma_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place) {
    mma<E4m3Operand>("mma_e4m3", d, a, b, place);
}
void mma_e5m2(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place) {
    mma<E5m2Operand>("mma_e5m2", d, a, b, place);
}
void mma_e4m3_e5m2(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                   const Place& place) {
    mma<E4m3Operand, E5m2Operand>("mma_e4m3_e5m2", d, a, b, place);
}
void mma_e5m2_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                   const Place& place) {
    mma<E5m2Operand, E4m3Operand>("mma_e5m2_e4m3", d, a, b, place);
}
void mma_s8(std::int32_t (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
            const Place& place) {
    mma<Int8Operand>("mma_s8", d, a, b, place);
}

}  // namespace rm::simt
