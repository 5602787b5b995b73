#include "kernels/cpu/simd/loops_here.h"
#include "kernels/cpu/simd/panel.h"
#include "kernels/cpu/simd/product_parts.h"

// Matrix products: operands are brought into the form that panel_product wants, one block of the
// depth after the other. f32 numbers as they are; bf16 numbers widened to f32 and multiplied
// there, or as pairs where the CPU multiplies those.
namespace rm::RM_SIMD {
namespace {

using simd::kProductColumns;
using simd::kProductRows;

constexpr std::ptrdiff_t kBlockDepth = 512;
constexpr std::ptrdiff_t kMaxGroups = (kProductRows + kPanelRows - 1) / kPanelRows;
constexpr std::ptrdiff_t kScratchA = kMaxGroups * kGroup * kBlockDepth;
constexpr std::ptrdiff_t kScratchB = kBlockDepth * kPanel;
constexpr std::ptrdiff_t kScratchC = kProductRows * kProductColumns;

static_assert(simd::kPackColumns % kPanel == 0 && kProductColumns % kPanel == 0);
static_assert(kBlockDepth % 2 == 0, "pairs of bf16 do not cross blocks");

// A matrix operand: where it begins and how far its rows or steps are apart.
template <typename Number>
struct Operand {
    const Number* data;
    std::ptrdiff_t stride;
};

struct F32 {
    using Terms = F32Terms;
    using Element = float;
    using Packed = float;
    static Operand<float> rows_of(const float* x, std::ptrdiff_t stride, std::ptrdiff_t,
                                  std::ptrdiff_t, float*) {
        return {x, stride};
    }
    static const float* panel(const float* packed, std::ptrdiff_t, float*) { return packed; }
    // The numbers of step `t`, a row of x.
    static void step(const float* x, std::ptrdiff_t stride, std::ptrdiff_t t, std::ptrdiff_t,
                     std::ptrdiff_t width, float* to) {
        copy_rows(x + t * stride, stride, 1, width, to, 0);
    }
};

struct Widened {
    using Terms = F32Terms;
    using Element = Bf16;
    using Packed = Bf16;
    static Operand<float> rows_of(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t rows,
                                  std::ptrdiff_t depth, float* scratch) {
        copy_rows(x, stride, rows, depth, scratch, kBlockDepth);
        return {scratch, kBlockDepth};
    }
    // From pairs along the depth to one row after the other.
    static const float* panel(const Bf16* packed, std::ptrdiff_t depth, float* scratch) {
        for (std::ptrdiff_t k = 0; k < depth; k += 2) {
            for (std::ptrdiff_t c = 0; c < kPanel; c += kWidth) {
                const auto words = reinterpret_cast<VecU>(
                    load(reinterpret_cast<const float*>(packed + k * kPanel) + c));
                store_words(scratch + k * kPanel + c, words << 16);
                store_words(scratch + (k + 1) * kPanel + c, words & 0xffff0000u);
            }
        }
        return scratch;
    }
    // The numbers of step `t`, a row of x.
    static void step(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t t, std::ptrdiff_t,
                     std::ptrdiff_t width, float* to) {
        copy_rows(x + t * stride, stride, 1, width, to, 0);
    }
};

#if defined(__AVX512BF16__)
struct Pairs {
    using Terms = PairTerms;
    using Element = Bf16;
    using Packed = Bf16;
    static Operand<NumberPair> rows_of(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t rows,
                                       std::ptrdiff_t depth, float* scratch) {
        auto* to = reinterpret_cast<Bf16*>(scratch);
        for (std::ptrdiff_t r = 0; r < rows; ++r) {
            for (std::ptrdiff_t k = 0; k < depth; k += kWidth)
                store(to + r * kBlockDepth + k, load_some(x + r * stride + k, depth - k));
        }
        return {reinterpret_cast<const NumberPair*>(to), kBlockDepth / 2};
    }
    static const NumberPair* panel(const Bf16* packed, std::ptrdiff_t, float*) {
        return reinterpret_cast<const NumberPair*>(packed);
    }
    static void step(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t t, std::ptrdiff_t depth,
                     std::ptrdiff_t width, float* to) {
        const Bf16* row = x + 2 * t * stride;
        const bool whole = 2 * t + 1 < depth;
        for (std::ptrdiff_t c = 0; c < width; c += kWidth) {
            __builtin_prefetch(row + 8 * stride + c);
            __builtin_prefetch(row + 9 * stride + c);
            const Vec second = whole ? load_some(row + stride + c, width - c) : Vec{};
            store_words(to + c, words_of(load_some(row + c, width - c), second));
        }
    }
};
#endif

// Columns of x become one panel.
template <typename Kind>
void panel_of_columns(const typename Kind::Element* x, std::ptrdiff_t stride, std::ptrdiff_t depth,
                      std::ptrdiff_t width, float* to) {
    for (std::ptrdiff_t t = 0; t * Kind::Terms::kDepth < depth; ++t)
        Kind::step(x, stride, t, depth, width, to + t * kPanel);
}

// Columns of x become groups of kPanelRows; what a group has beyond them is not used. A few steps
// at a time: groups are far apart, and each is written a few cache lines at once.
template <typename Kind>
void groups_of_columns(const typename Kind::Element* x, std::ptrdiff_t stride, std::ptrdiff_t depth,
                       std::ptrdiff_t width, std::ptrdiff_t steps, float* to) {
    constexpr std::ptrdiff_t kBatch = 16, kRow = kProductRows + kWidth;
    float numbers[kBatch * kRow];
    for (std::ptrdiff_t first = 0; first < steps; first += kBatch) {
        const std::ptrdiff_t count = min(kBatch, steps - first);
        for (std::ptrdiff_t t = 0; t < count; ++t)
            Kind::step(x, stride, first + t, depth, width, numbers + t * kRow);
        float* out = to + first * kGroup;
        for (std::ptrdiff_t c = 0; c < width; c += kPanelRows, out += kGroup * steps) {
            for (std::ptrdiff_t t = 0; t < count; ++t)
                __builtin_memcpy(out + t * kGroup, numbers + t * kRow + c, kGroup * sizeof(float));
        }
    }
}

template <typename Kind, typename Y>
void rows_into(const simd::ProductRows& op) {
    constexpr std::ptrdiff_t kStep = Kind::Terms::kDepth;
    float *a = op.scratch, *b = a + kScratchA, *copies = b + kScratchB;
    const auto* x = static_cast<const typename Kind::Element*>(op.x);
    const auto* packed = static_cast<const typename Kind::Packed*>(op.packed);
    const std::ptrdiff_t K = sizeof(typename Kind::Packed) == 2 ? round_up(op.K, 2) : op.K;
    for (std::ptrdiff_t k = 0; k < op.K; k += kBlockDepth) {
        const std::ptrdiff_t depth = min(kBlockDepth, op.K - k);
        const auto rows = Kind::rows_of(x + k, op.x_stride, op.rows, depth, a);
        for (std::ptrdiff_t n = 0; n < op.columns; n += kPanel) {
            const auto* at = packed + (op.first + n) * K + k * kPanel;
            const auto* panel = Kind::panel(at, depth, b);
            const bool direct = !op.add && OutPanel<Y, kPanel>::fits(op.columns - n);
            const OutPanel<Y, kPanel> out(static_cast<Y*>(op.y) + op.first + n, op.y_stride,
                                          op.rows, op.columns - n,
                                          direct ? nullptr : copies + n * kProductRows);
            panel_product<typename Kind::Terms>(rows.data, RowMajor{rows.stride}, panel, op.rows,
                                                (depth + kStep - 1) / kStep, out.data(),
                                                out.stride(), k > 0 ? Begin::loaded : Begin::zero);
            if (k + depth == op.K) out.put(op.add ? Sum::with_y : Sum::none);
        }
    }
}

template <typename Kind>
void product_rows(const simd::ProductRows& op) {
    if (op.y_type == simd::Type::f32) return rows_into<Kind, float>(op);
    rows_into<Kind, Bf16>(op);
}

template <typename Kind>
void product_columns(const simd::ProductOfColumns& op) {
    constexpr std::ptrdiff_t kStep = Kind::Terms::kDepth;
    using Number = const typename Kind::Terms::Number*;
    float *a_groups = op.scratch, *b_panel = a_groups + kScratchA, *copy = b_panel + kScratchB;
    const auto* a = static_cast<const typename Kind::Element*>(op.a);
    const auto* b = static_cast<const typename Kind::Element*>(op.b);
    for (std::ptrdiff_t t = 0; t < op.depth; t += kBlockDepth) {
        const std::ptrdiff_t depth = min(kBlockDepth, op.depth - t);
        const std::ptrdiff_t steps = (depth + kStep - 1) / kStep;
        groups_of_columns<Kind>(a + t * op.a_stride, op.a_stride, depth, op.rows, steps, a_groups);
        for (std::ptrdiff_t n = 0; n < op.columns; n += kPanel) {
            const std::ptrdiff_t columns = min(kPanel, op.columns - n);
            panel_of_columns<Kind>(b + t * op.b_stride + n, op.b_stride, depth, columns, b_panel);
            const bool direct = OutPanel<float, kPanel>::fits(columns);
            const OutPanel<float, kPanel> out(op.out + n, op.out_stride, op.rows, columns,
                                              direct ? nullptr : copy);
            out.fetch();
            panel_product<typename Kind::Terms>(reinterpret_cast<Number>(a_groups),
                                                Grouped{kGroup * steps},
                                                reinterpret_cast<Number>(b_panel), op.rows, steps,
                                                out.data(), out.stride(), Begin::loaded);
            out.put(Sum::none);
        }
    }
}

struct PackF32 {
    static std::ptrdiff_t padded(std::ptrdiff_t K) { return K; }
    template <Along along, typename From>
    static void panel(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t n,
                      std::ptrdiff_t last, float* to) {
        const auto write = [&](std::ptrdiff_t k, std::ptrdiff_t c, const Vec(&square)[kWidth])
            __attribute__((always_inline)) {
            for (std::ptrdiff_t i = 0; i < kWidth && k + i < K; ++i)
                store(to + (k + i) * kPanel + c, square[i]);
        };
        for_squares<along, kPanel, From>(b, K, n, last, write);
    }
};

struct PackPairs {
    static std::ptrdiff_t padded(std::ptrdiff_t K) { return round_up(K, 2); }
    template <Along along, typename From>
    static void panel(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t n,
                      std::ptrdiff_t last, Bf16* to) {
        const auto write = [&](std::ptrdiff_t k, std::ptrdiff_t c, const Vec(&square)[kWidth])
            __attribute__((always_inline)) {
            for (std::ptrdiff_t i = 0; i < kWidth && k + i < K; i += 2)
                store_words(to + (k + i) * kPanel + 2 * c, words_of(square[i], square[i + 1]));
        };
        for_squares<along, kPanel, From>(b, K, n, last, write);
    }
};

template <typename Pack, typename Packed, typename From>
void pack_columns_of(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t first,
                     std::ptrdiff_t last, void* packed) {
    for (std::ptrdiff_t n = first; n < last; n += kPanel) {
        Packed* to = static_cast<Packed*>(packed) + n * Pack::padded(K);
        if (b.n_stride == 1) {
            Pack::template panel<Along::n, From>(b, K, n, last, to);
        } else {
            Pack::template panel<Along::k, From>(b, K, n, last, to);
        }
    }
}

template <typename Pack, typename Packed>
void pack_columns(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t first,
                  std::ptrdiff_t last, void* packed) {
    if constexpr (sizeof(Packed) == sizeof(Bf16)) {
        if (b.type == simd::Type::bf16)
            return pack_columns_of<Pack, Packed, Bf16>(b, K, first, last, packed);
    }
    pack_columns_of<Pack, Packed, float>(b, K, first, last, packed);
}

template <typename Pack, typename Packed>
std::ptrdiff_t packed_bytes(std::ptrdiff_t K, std::ptrdiff_t N) {
    return round_up(N, kPanel) * Pack::padded(K) * static_cast<std::ptrdiff_t>(sizeof(Packed));
}

template <typename Kind, typename Pack>
simd::ProductLoops loops_of() {
    using Packed = typename Kind::Packed;
    return {.scratch = kScratchA + kScratchB + kScratchC,
            .packed_bytes = packed_bytes<Pack, Packed>,
            .pack = pack_columns<Pack, Packed>,
            .rows = product_rows<Kind>,
            .columns = product_columns<Kind>};
}

}  // namespace

simd::ProductLoops products_f32() {
    return loops_of<F32, PackF32>();
}
simd::ProductLoops products_widened() {
    return loops_of<Widened, PackPairs>();
}
simd::ProductLoops products_pairs() {
#if defined(__AVX512BF16__)
    return loops_of<Pairs, PackPairs>();
#else
    return {};
#endif
}

}  // namespace rm::RM_SIMD
