#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/random.h"
#include "kernels/cpu/ops.h"

// Element-wise ops and reductions over whole tensors.
namespace rm::cpu {
namespace {

// f64 is for scalars and tests: plain loops by way of f32 or to it.
template <typename From, typename To>
void convert(const From* from, To* to, std::int64_t count, const simd::Loops& loops) {
    constexpr bool kFromBf16 = std::is_same_v<From, Bf16>, kToBf16 = std::is_same_v<To, Bf16>;
    if constexpr (kFromBf16 && std::is_same_v<To, float>) {
        loops.rows_bf16.widen(from, to, count);
    } else if constexpr (kToBf16 && std::is_same_v<From, float>) {
        loops.rows_bf16.round(from, to, count);
    } else {
        std::transform(from, from + count, to, [](From value) {
            if constexpr (kFromBf16) {
                return static_cast<To>(from_bf16(value));
            } else if constexpr (kToBf16) {
                return to_bf16(static_cast<float>(value));
            } else {
                return static_cast<To>(value);
            }
        });
    }
}

// visit.operator()<the type of the elements>()
template <typename Visit>
void with_floating(DType dtype, const Visit& visit) {
    if (dtype == DType::f64) return visit.template operator()<double>();
    if (dtype == DType::f32) return visit.template operator()<float>();
    visit.template operator()<Bf16>();
}

}  // namespace

void run(const FillZero& op, Workspace, Context& context) {
    auto* data = static_cast<char*>(op.x.data());
    const auto zero = [&](std::int64_t first, std::int64_t count, int) {
        std::memset(data + first, 0, usize(count));
    };
    context.workers.for_blocks(op.x.num_bytes().value, 4 * kElements, zero);
}

namespace {

void copy_bytes(const Copy& op, Context& context) {
    const auto* source = static_cast<const char*>(op.from.data());
    auto* target = static_cast<char*>(op.to.data());
    const auto copy = [&](std::int64_t first, std::int64_t count, int) {
        std::memcpy(target + first, source + first, usize(count));
    };
    context.workers.for_blocks(op.to.num_bytes().value, 4 * kElements, copy);
}

}  // namespace

void run(const Copy& op, Workspace, Context& context) {
    if (op.from.dtype() == op.to.dtype()) return copy_bytes(op, context);
    with_floating(op.from.dtype(), [&]<typename From>() {
        with_floating(op.to.dtype(), [&]<typename To>() {
            const From* from = op.from.as<From>();
            To* to = op.to.as<To>();
            const auto block = [&](std::int64_t first, std::int64_t count, int) {
                convert(from + first, to + first, count, context.loops);
            };
            context.workers.for_blocks(op.to.num_elements(), kElements, block);
        });
    });
}

namespace {

// Numbers of a block at a time: these and what they are converted to stay in the cache.
constexpr std::int64_t kAtOnce = 1024;

// body(at, count) for [first, first + count), kAtOnce at most.
template <typename Body>
void for_each_few(std::int64_t first, std::int64_t count, const Body& body) {
    for (std::int64_t at = first; at < first + count; at += kAtOnce)
        body(at, std::min(kAtOnce, first + count - at));
}

// The numbers of a tensor in f32 or bf16, as f32.
class Widened {
public:
    Widened(const TensorView& x, const Context& context)
        : wide_(x.dtype() == DType::f32 ? x.as<float>() : nullptr),
          narrow_(wide_ == nullptr ? x.as<Bf16>() : nullptr),
          context_(context) {}

    // Until the next call.
    const float* at(std::int64_t first, std::int64_t count) {
        if (wide_ != nullptr) return wide_ + first;
        context_.loops.rows_bf16.widen(narrow_ + first, few_.data(), count);
        return few_.data();
    }

private:
    const float* wide_;
    const Bf16* narrow_;
    const Context& context_;
    std::array<float, kAtOnce> few_;
};

void add_rounded(const Add& op, Context& context) {
    const float* x = op.x.as<float>();
    Bf16* y = op.y.as<Bf16>();
    const auto block = [&](std::int64_t first, std::int64_t count, int) {
        std::array<float, kAtOnce> sum;
        for_each_few(first, count, [&](std::int64_t at, std::int64_t size) {
            context.loops.rows_bf16.widen(y + at, sum.data(), size);
            context.loops.rows_f32.add(x + at, sum.data(), size);
            context.loops.rows_bf16.round(sum.data(), y + at, size);
        });
    };
    context.workers.for_blocks(op.x.num_elements(), kElements, block);
}

}  // namespace

void run(const Add& op, Workspace, Context& context) {
    if (op.x.dtype() != op.y.dtype()) return add_rounded(op, context);
    with_rows("add", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E* x = op.x.as<E>();
        E* y = op.y.as<E>();
        const auto add = [&](std::int64_t first, std::int64_t count, int) {
            loops.add(x + first, y + first, count);
        };
        context.workers.for_blocks(op.x.num_elements(), kElements, add);
    });
}

namespace {

constexpr std::int64_t kSquareParts = 64;

double sum_squares(const TensorView& x, std::int64_t first, std::int64_t count,
                   const Context& context) {
    if (x.dtype() == DType::f32) return context.loops.sum_squares(x.as<float>() + first, count);
    Widened numbers(x, context);
    double sum = 0;
    for_each_few(first, count, [&](std::int64_t at, std::int64_t size) {
        sum += context.loops.sum_squares(numbers.at(at, size), size);
    });
    return sum;
}

}  // namespace

Bytes scratch_bytes(const SumSquares&, const Context&) {
    Scratch scratch;
    scratch.doubles(kSquareParts);
    return scratch.used();
}
// Always the same parts, added in order.
void run(const SumSquares& op, Workspace workspace, Context& context) {
    constexpr std::int64_t kMultiple = 1024;
    const std::int64_t size = op.x.num_elements();
    const std::int64_t part = (size / kSquareParts / kMultiple + 1) * kMultiple;
    double* sums = Scratch(workspace).doubles(kSquareParts);
    context.workers.for_blocks(size, part, [&](std::int64_t first, std::int64_t count, int) {
        sums[first / part] = sum_squares(op.x, first, count, context);
    });
    double& sum = *op.sum.as<double>();
    for (std::int64_t i = 0; i * part < size; ++i)
        sum += sums[i];
}

void run(const ClipFactor& op, Workspace, Context&) {
    const double norm = std::sqrt(*op.sum.as<double>());
    const bool clips = op.max_norm > 0 && norm > op.max_norm;
    auto* out = op.out.as<double>();
    out[0] = norm;
    out[1] = clips ? op.max_norm / norm : 1;
    out[2] = std::isfinite(norm) && op.rounded_only_finite() ? 1 : 0;
}

namespace {

simd::AdamWStep step_of(const AdamW& op, double grad_factor) {
    const auto correction = [&](double beta) {
        return static_cast<float>(1 / (1 - std::pow(beta, static_cast<double>(op.step))));
    };
    return {.learning_rate = static_cast<float>(op.learning_rate),
            .eps = static_cast<float>(op.eps),
            .weight_decay = static_cast<float>(op.weight_decay),
            .beta1 = static_cast<float>(op.beta1),
            .beta2 = static_cast<float>(op.beta2),
            .rest1 = static_cast<float>(1 - op.beta1),
            .rest2 = static_cast<float>(1 - op.beta2),
            .correction1 = correction(op.beta1),
            .correction2 = correction(op.beta2),
            .grad_factor = static_cast<float>(grad_factor)};
}

// Moments in bf16 are widened for the update and rounded stochastically after it.
class RoundedMoments {
public:
    RoundedMoments(const AdamW& op, Context& context)
        : key_(mix64(mix64(op.rounding_seed) ^ static_cast<std::uint64_t>(op.step))),
          op_(op),
          m_(op.m.as<Bf16>()),
          v_(op.v.as<Bf16>()),
          context_(context) {}

    template <typename Update>
    void update(std::int64_t first, std::int64_t count, const Update& update) const {
        std::array<float, kAtOnce> m, v;
        for_each_few(first, count, [&](std::int64_t at, std::int64_t size) {
            context_.loops.rows_bf16.widen(m_ + at, m.data(), size);
            context_.loops.rows_bf16.widen(v_ + at, v.data(), size);
            update(at, m.data(), v.data(), size);
            WholeElements elements(op_, at);
            for (std::int64_t i = 0; i < size; ++i) {
                const std::uint64_t random = mix64(key_ ^ elements.take());
                m_[at + i] = rounded(m[usize(i)], random);
                v_[at + i] = rounded(v[usize(i)], random >> 16);
            }
        });
    }

private:
    static Bf16 rounded(float value, std::uint64_t random) {
        return to_bf16_stochastically(value, static_cast<std::uint16_t>(random));
    }

    std::uint64_t key_;
    const AdamW& op_;
    Bf16 *m_, *v_;
    Context& context_;
};

}  // namespace

void run(const AdamW& op, Workspace, Context& context) {
    const auto* clip = op.clip.as<double>();
    if (clip[2] == 0) return;
    const simd::AdamWStep step = step_of(op, clip[1]);
    auto* weight = op.weight.as<float>();
    const bool rounds = op.m.dtype() == DType::bf16;
    const auto block = [&](std::int64_t first, std::int64_t count, int) {
        Widened grad(op.grad, context);
        const auto update = [&](std::int64_t at, float* m, float* v, std::int64_t size) {
            context.loops.adamw(step, weight + at, grad.at(at, size), m, v, size);
        };
        if (rounds) return RoundedMoments(op, context).update(first, count, update);
        for_each_few(first, count, [&](std::int64_t at, std::int64_t size) {
            update(at, op.m.as<float>() + at, op.v.as<float>() + at, size);
        });
    };
    context.workers.for_blocks(op.weight.num_elements(), kElements, block);
}

}  // namespace rm::cpu
