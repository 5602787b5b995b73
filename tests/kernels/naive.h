#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/fp8.h"
#include "kernels/kernels.h"

// Implements every op as the shortest loops, with all numbers and sums in T. Tolerances derive from
// these results. Compute tensors are stored as S; prepared weights and gradients of logits are
// rounded to it. Everything runs at once on the calling thread; the stream is ignored.
namespace rm::test {

template <typename T>
class NaiveWeight final : public PreparedWeight {
public:
    NaiveWeight(std::int64_t num_rows, std::int64_t num_columns, WeightForm form)
        : num_rows_(num_rows), num_columns_(num_columns), form_(form) {}
    WeightForm form() const override { return form_; }
    std::int64_t num_rows() const override { return num_rows_; }
    std::int64_t num_columns() const override { return num_columns_; }
    std::vector<T> values;  // rounded as a product sees them

private:
    std::int64_t num_rows_ = 0, num_columns_ = 0;
    WeightForm form_;
};

template <typename T, typename S>
S naive_round(T value) {
    if constexpr (std::is_same_v<S, Bf16>) {
        return to_bf16(static_cast<float>(value));
    } else {
        return static_cast<S>(value);
    }
}
template <typename S>
double naive_value(S value) {
    if constexpr (std::is_same_v<S, Bf16>) {
        return from_bf16(value);
    } else {
        return value;
    }
}

// The elements of a tensor stored as S, as T. The destructor rounds changed elements and writes
// them back; with T const the tensor is only read.
template <typename T, typename S>
class NaiveElements {
public:
    explicit NaiveElements(const TensorView& tensor)
        : stored_(tensor.as<S>()), elements_(static_cast<std::size_t>(tensor.num_elements())) {
        std::transform(stored_, stored_ + elements_.size(), elements_.begin(),
                       [](S x) { return static_cast<T>(naive_value(x)); });
    }
    NaiveElements(const NaiveElements&) = delete;
    NaiveElements& operator=(const NaiveElements&) = delete;
    ~NaiveElements() {
        if constexpr (!std::is_const_v<T>) {
            std::transform(elements_.begin(), elements_.end(), stored_, naive_round<T, S>);
        }
    }
    operator T*() { return elements_.data(); }  // NOLINT(google-explicit-constructor)

private:
    S* stored_;
    std::vector<std::remove_const_t<T>> elements_;
};

struct NaiveToken {
    std::int32_t document = 0;
    std::int64_t position = 0;
};
inline std::vector<NaiveToken> naive_tokens(std::span<const Run> runs) {
    std::vector<NaiveToken> tokens;
    for (const Run& run : runs) {
        for (std::int64_t i = 0; i < run.length; ++i)
            tokens.push_back({run.document, run.first + i});
    }
    return tokens;
}
inline bool naive_sees(const NaiveToken& q, const NaiveToken& k) {
    return q.document != kPaddingDocument && q.document == k.document && k.position <= q.position;
}

template <typename T, typename S = T>
class NaiveKernels final : public Kernels {
public:
    std::string_view name() const override { return "naive"; }
    NumericTypes types() const override { return {dtype_of<S>(), dtype_of<T>(), dtype_of<T>()}; }
    Device& device() override { return *device_; }

    Bytes prepared_bytes(std::int64_t, std::int64_t, WeightForm) const override { return {}; }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows, std::int64_t num_columns,
                                                  WeightForm form) override {
        return std::make_unique<NaiveWeight<T>>(num_rows, num_columns, form);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream&) override {
        auto& own = dynamic_cast<NaiveWeight<T>&>(prepared);
        with_storage(weight, [&]<typename W>() {
            for (std::int64_t i = 0; i < weight.num_elements(); ++i)
                own.values.push_back(rounded(static_cast<T>(naive_value(weight.as<W>()[i]))));
        });
        if (prepared.form() != WeightForm::compute) round_to_fp8(own);
    }
    void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream&) override {
        auto& own = dynamic_cast<NaiveWeight<T>&>(prepared);
        const float scale = *weight.scale.as<float>();
        for (std::int64_t i = 0; i < weight.codes.num_elements(); ++i) {
            const std::uint8_t code = weight.codes.as<std::uint8_t>()[i];
            own.values.push_back(static_cast<T>(from_fp8(weight.format, code)) *
                                 static_cast<T>(scale));
        }
    }

#define RM_OP(Op)                                     \
    Bytes workspace_bytes(const Op&) const override { \
        return {};                                    \
    }                                                 \
    void run(const Op& op, Workspace workspace, Stream& stream) override;
    RM_EACH_OP(RM_OP)
#undef RM_OP

private:
    using In = NaiveElements<const T, S>;
    using Out = NaiveElements<T, S>;
    static T* of(const TensorView& tensor) {
        return tensor.as<T>();
    }
    static T rounded(T value) {
        return static_cast<T>(naive_value(naive_round<T, S>(value)));
    }
    static float largest_of(std::span<const T> values) {
        float largest = 0;
        for (const T value : values)
            largest = std::max(largest, std::abs(static_cast<float>(value)));
        return largest;
    }
    static void add_effect(const Quantize& op);
    static void round_to_fp8(NaiveWeight<T>& weight);
    static void quantize_blocks(const Quantize& op);
    static std::vector<T> numbers_of(const Fp8Matrix& matrix) {
        std::vector<T> numbers;
        for (std::int64_t i = 0; i < matrix.codes.num_elements(); ++i) {
            const std::uint8_t code = matrix.codes.as<std::uint8_t>()[i];
            const std::int64_t columns = matrix.codes.dim(1);
            numbers.push_back(static_cast<T>(from_fp8(matrix.format, code)) *
                              static_cast<T>(matrix.scale_at(i / columns, i % columns)));
        }
        return numbers;
    }
    static const T* weight_of(const PreparedWeight* prepared) {
        return dynamic_cast<const NaiveWeight<T>&>(*prepared).values.data();
    }
    // visit.operator()<type of the tensor's elements>()
    template <typename Visit>
    static void with_storage(const TensorView& tensor, const Visit& visit) {
        if (tensor.dtype() == DType::f64) return visit.template operator()<double>();
        if (tensor.dtype() == DType::f32) return visit.template operator()<float>();
        visit.template operator()<Bf16>();
    }
    static T dot(const T* a, const T* b, std::int64_t size) {
        T sum = 0;
        for (std::int64_t i = 0; i < size; ++i)
            sum += a[i] * b[i];
        return sum;
    }
    static T sigmoid(T x) {
        return 1 / (1 + std::exp(-x));
    }
    static T sum_of_powers(const std::vector<T>& logits, T max) {
        T sum = 0;
        for (const T logit : logits)
            sum += std::exp(logit - max);
        return sum;
    }
    static std::vector<T> logits_of(const T* x, const PreparedWeight* head);
    static void spread(const std::vector<T>& logits, T lse, std::int64_t target, double scale,
                       const PreparedWeight* head, const T* x, T* d_x, T* d_head);

    std::unique_ptr<Device> device_ = make_host_device();
};

template <typename T, typename S>
void NaiveKernels<T, S>::run(const LinearFwd& op, Workspace, Stream&) {
    const std::int64_t N = op.y.dim(1), K = op.x.dim(1);
    In x(op.x);
    Out y(op.y);
    for (std::int64_t i = 0; i < op.y.num_elements(); ++i) {
        const T sum = dot(x + i / N * K, weight_of(op.weight) + i % N * K, K);
        y[i] = op.into == Into::add ? y[i] + sum : sum;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const LinearBwdInput& op, Workspace, Stream&) {
    const std::int64_t N = op.d_y.dim(1), K = op.d_x.dim(1);
    In all_d_y(op.d_y);
    Out d_x(op.d_x);
    for (std::int64_t i = 0; i < op.d_x.num_elements(); ++i) {
        const T* d_y = all_d_y + i / K * N;
        const T* w = weight_of(op.weight) + i % K;
        T sum = 0;
        for (std::int64_t n = 0; n < N; ++n)
            sum += d_y[n] * w[n * K];
        d_x[i] = op.into == Into::add ? d_x[i] + sum : sum;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const LinearBwdWeight& op, Workspace, Stream&) {
    const std::int64_t N = op.d_y.dim(1), K = op.x.dim(1);
    In all_d_y(op.d_y), all_x(op.x);
    for (std::int64_t i = 0; i < op.d_weight.num_elements(); ++i) {
        const T* d_y = all_d_y + i / K;
        const T* x = all_x + i % K;
        T sum = 0;
        for (std::int64_t t = 0; t < op.x.dim(0); ++t)
            sum += d_y[t * N] * x[t * K];
        of(op.d_weight)[i] += sum;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const RmsNormFwd& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1);
    In all_x(op.x);
    Out y(op.y);
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const T* x = all_x + t * C;
        const T mean = dot(x, x, C) / static_cast<T>(C);
        const T rstd = 1 / std::sqrt(mean + static_cast<T>(op.eps));
        of(op.rstd)[t] = rstd;
        for (std::int64_t c = 0; c < C; ++c)
            y[t * C + c] = x[c] * rstd * of(op.weight)[c];
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const RmsNormBwd& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1);
    In all_x(op.x), all_d_y(op.d_y);
    Out d_x(op.d_x);
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const T* x = all_x + t * C;
        const T* d_y = all_d_y + t * C;
        const T rstd = of(op.rstd)[t];
        T sum = 0;
        for (std::int64_t c = 0; c < C; ++c)
            sum += d_y[c] * of(op.weight)[c] * x[c];
        for (std::int64_t c = 0; c < C; ++c) {
            const T pull = x[c] * rstd * rstd * rstd * sum / static_cast<T>(C);
            d_x[t * C + c] += rstd * d_y[c] * of(op.weight)[c] - pull;
            of(op.d_weight)[c] += d_y[c] * x[c] * rstd;
        }
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const RopeTable& op, Workspace, Stream&) {
    const auto half = static_cast<std::int64_t>(op.inv_freq.size());
    const auto tokens = naive_tokens(op.runs);
    for (std::int64_t i = 0; i < op.cos.num_elements(); ++i) {
        const std::int64_t position = tokens[i / half].position;
        const double frequency = op.inv_freq[static_cast<std::size_t>(i % half)];
        // fp64 by contract: f32 angles would add an error far beyond rounding.
        const double angle =
            std::fmod(static_cast<double>(position) * frequency, 2 * std::numbers::pi);
        of(op.cos)[i] = static_cast<T>(op.scale * std::cos(angle));
        of(op.sin)[i] = static_cast<T>(op.scale * std::sin(angle));
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const RopeApply& op, Workspace, Stream&) {
    const std::int64_t H = op.x.dim(1), half = op.x.dim(2) / 2;
    const T sign = op.rotation == Rotation::forward ? 1 : -1;
    Out all_x(op.x);
    for (std::int64_t row = 0; row < op.x.dim(0) * H; ++row) {
        T* x = all_x + row * 2 * half;
        for (std::int64_t i = 0; i < half; ++i) {
            const T cos = of(op.cos)[row / H * half + i];
            const T sin = sign * of(op.sin)[row / H * half + i];
            const T low = x[i], high = x[i + half];
            x[i] = low * cos - high * sin;
            x[i + half] = high * cos + low * sin;
        }
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const SwigluFwd& op, Workspace, Stream&) {
    In gates(op.gate), up(op.up);
    Out h(op.h);
    for (std::int64_t i = 0; i < op.h.num_elements(); ++i) {
        const T gate = gates[i];
        h[i] = gate * sigmoid(gate) * up[i];
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const SwigluBwd& op, Workspace, Stream&) {
    In gates(op.gate), up(op.up), d_hs(op.d_h);
    Out d_up(op.d_up), d_gate(op.d_gate);
    for (std::int64_t i = 0; i < op.d_h.num_elements(); ++i) {
        const T gate = gates[i], s = sigmoid(gate), d_h = d_hs[i];
        d_up[i] = d_h * gate * s;
        d_gate[i] = d_h * up[i] * (s + gate * s * (1 - s));
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const EmbeddingFwd& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1), V = op.table.dim(0);
    Out x(op.x);
    with_storage(op.table, [&]<typename Row>() {
        for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
            const std::int64_t row = op.tokens.as<std::int32_t>()[i / C] - op.rows.first;
            const bool here = row >= 0 && row < V;
            x[i] = here ? static_cast<T>(naive_value(op.table.as<Row>()[row * C + i % C])) : T(0);
        }
    });
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const EmbeddingBwd& op, Workspace, Stream&) {
    const std::int64_t C = op.d_x.dim(1), V = op.d_table.dim(0);
    In d_x(op.d_x);
    for (std::int64_t i = 0; i < op.d_x.num_elements(); ++i) {
        const std::int64_t row = op.tokens.as<std::int32_t>()[i / C] - op.rows.first;
        if (row >= 0 && row < V) of(op.d_table)[row * C + i % C] += d_x[i];
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const FillZero& op, Workspace, Stream&) {
    std::memset(op.x.data(), 0, op.x.bytes().size());
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Copy& op, Workspace, Stream&) {
    with_storage(op.from, [&]<typename From>() {
        with_storage(op.to, [&]<typename To>() {
            for (std::int64_t i = 0; i < op.from.num_elements(); ++i) {
                const double value = naive_value(op.from.as<From>()[i]);
                op.to.as<To>()[i] = naive_round<double, To>(value);
            }
        });
    });
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Add& op, Workspace, Stream&) {
    with_storage(op.x, [&]<typename X>() {
        with_storage(op.y, [&]<typename Y>() {
            NaiveElements<const T, X> x(op.x);
            NaiveElements<T, Y> y(op.y);
            for (std::int64_t i = 0; i < op.x.num_elements(); ++i)
                y[i] += x[i];
        });
    });
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const CopyHeads& op, Workspace, Stream&) {
    const std::int64_t D = op.from.dim(2), width = op.count * D;
    const std::int64_t A = op.from.dim(1), B = op.to.dim(1);
    with_storage(op.from, [&]<typename From>() {
        with_storage(op.to, [&]<typename To>() {
            NaiveElements<const T, From> from(op.from);
            NaiveElements<T, To> to(op.to);
            for (std::int64_t i = 0; i < op.from.dim(0) * width; ++i) {
                const std::int64_t t = i / width, at = i % width;
                T& y = to[(t * B + op.to_first) * D + at];
                const T x = from[(t * A + op.from_first) * D + at];
                y = op.into == Into::add ? y + x : x;
            }
        });
    });
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const PackRows& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1), row_bytes = 4 * op.packed.dim(1);
    In x(op.x);
    std::memset(op.packed.data(), 0, op.packed.bytes().size());
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        float amax = 0;
        for (std::int64_t c = 0; c < C; ++c)
            amax = std::max(amax, std::abs(static_cast<float>(x[t * C + c])));
        auto* row = static_cast<std::uint8_t*>(op.packed.data()) + t * row_bytes;
        const float factor = fp8_scale(Fp8::e4m3, amax), inverse = 1 / factor;
        for (std::int64_t c = 0; c < C; ++c)
            row[c] = to_fp8(Fp8::e4m3, factor * static_cast<float>(x[t * C + c]));
        std::memcpy(row + row_bytes - 4, &inverse, 4);
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const UnpackRows& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1), row_bytes = 4 * op.packed.dim(1);
    Out x(op.x);
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
        const auto* row = static_cast<const std::uint8_t*>(op.packed.data()) + i / C * row_bytes;
        float inverse = 0;
        std::memcpy(&inverse, row + row_bytes - 4, 4);
        x[i] = inverse * from_fp8(Fp8::e4m3, row[i % C]);
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const SumParts& op, Workspace, Stream&) {
    const std::int64_t size = op.y.num_elements();
    with_storage(op.y, [&]<typename E>() {
        NaiveElements<const T, E> parts(op.parts);
        NaiveElements<T, E> y(op.y);
        for (std::int64_t i = 0; i < size; ++i) {
            T sum = op.into == Into::add ? y[i] : T(0);
            for (std::int64_t g = 0; g < op.parts.dim(0); ++g)
                sum += parts[g * size + i];
            y[i] = sum;
        }
    });
}

// Sums backwards, so that the yardstick does not share the oracle's order of summation.
template <typename T, typename S>
void NaiveKernels<T, S>::run(const SumSquares& op, Workspace, Stream&) {
    double& sum = *op.sum.as<double>();
    with_storage(op.x, [&]<typename X>() {
        NaiveElements<const T, X> x(op.x);
        for (std::int64_t i = op.x.num_elements(); i-- > 0;)
            sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    });
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const ClipFactor& op, Workspace, Stream&) {
    const double norm = std::sqrt(*op.sum.as<double>());
    double* out = op.out.as<double>();
    out[0] = norm;
    out[1] = op.max_norm > 0 ? std::min(1.0, op.max_norm / norm) : 1;
    out[2] = std::isfinite(norm) && op.rounded_only_finite() ? 1 : 0;
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AdamW& op, Workspace, Stream&) {
    const double* clip = op.clip.as<double>();
    if (clip[2] == 0) return;
    const auto beta1 = static_cast<T>(op.beta1), beta2 = static_cast<T>(op.beta2);
    const T correction1 = static_cast<T>(1 - std::pow(op.beta1, op.step));
    const T correction2 = static_cast<T>(1 - std::pow(op.beta2, op.step));
    with_storage(op.grad, [&]<typename Gradient>() {
        NaiveElements<const T, Gradient> grads(op.grad);
        for (std::int64_t i = 0; i < op.weight.num_elements(); ++i) {
            T &w = of(op.weight)[i], &m = of(op.m)[i], &v = of(op.v)[i];
            const T grad = grads[i] * static_cast<T>(clip[1]);
            m = beta1 * m + (1 - beta1) * grad;
            v = beta2 * v + (1 - beta2) * grad * grad;
            const T root = std::sqrt(v / correction2) + static_cast<T>(op.eps);
            const T step = m / correction1 / root + static_cast<T>(op.weight_decay) * w;
            w -= static_cast<T>(op.learning_rate) * step;
        }
    });
}

}  // namespace rm::test

#include "tests/kernels/attention/naive_attention.h"
#include "tests/kernels/naive_fp8.h"
#include "tests/kernels/naive_loss.h"
