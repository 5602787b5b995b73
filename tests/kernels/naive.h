#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/kernels.h"

// Every op as the shortest loops with every number and every sum in T: what a tolerance is derived
// from. Runs on the calling thread at once, ignoring the stream.
namespace rm::test {

class NaiveWeight final : public PreparedWeight {
public:
    explicit NaiveWeight(std::int64_t num_rows, std::int64_t num_columns)
        : view(nullptr, DType::f32, {num_rows, num_columns}) {}
    std::int64_t num_rows() const override { return view.dim(0); }
    std::int64_t num_columns() const override { return view.dim(1); }
    TensorView view;  // borrows the master weight
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

template <typename T>
class NaiveKernels final : public Kernels {
public:
    std::string_view name() const override { return "naive"; }
    NumericTypes types() const override { return {dtype_of<T>(), dtype_of<T>(), dtype_of<T>()}; }
    Device& device() override { return *device_; }

    Bytes prepared_bytes(std::int64_t, std::int64_t) const override { return {}; }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows,
                                                  std::int64_t num_columns) override {
        return std::make_unique<NaiveWeight>(num_rows, num_columns);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream&) override {
        dynamic_cast<NaiveWeight&>(prepared).view = weight;
    }

    Bytes workspace_bytes(const LinearFwd&) const override { return {}; }
    Bytes workspace_bytes(const LinearBwdInput&) const override { return {}; }
    Bytes workspace_bytes(const LinearBwdWeight&) const override { return {}; }
    Bytes workspace_bytes(const RmsNormBwd&) const override { return {}; }
    Bytes workspace_bytes(const LinearCrossEntropy&) const override { return {}; }
    Bytes workspace_bytes(const AttentionFwd&) const override { return {}; }
    Bytes workspace_bytes(const AttentionBwd&) const override { return {}; }

    void linear_fwd(const LinearFwd& op, Workspace, Stream&) override;
    void linear_bwd_input(const LinearBwdInput& op, Workspace, Stream&) override;
    void linear_bwd_weight(const LinearBwdWeight& op, Workspace, Stream&) override;
    void rmsnorm_fwd(const RmsNormFwd& op, Stream&) override;
    void rmsnorm_bwd(const RmsNormBwd& op, Workspace, Stream&) override;
    void rope_table(const RopeTable& op, Stream&) override;
    void rope_apply(const RopeApply& op, Stream&) override;
    void swiglu_fwd(const SwigluFwd& op, Stream&) override;
    void swiglu_bwd(const SwigluBwd& op, Stream&) override;
    void embedding_fwd(const EmbeddingFwd& op, Stream&) override;
    void embedding_bwd(const EmbeddingBwd& op, Stream&) override;
    void linear_cross_entropy(const LinearCrossEntropy& op, Workspace, Stream&) override;
    void attention_begin(const AttentionBegin& op, Stream&) override;
    void attention_fwd(const AttentionFwd& op, Workspace, Stream&) override;
    void attention_finish(const AttentionFinish& op, Stream&) override;
    void attention_delta(const AttentionDelta& op, Stream&) override;
    void attention_bwd(const AttentionBwd& op, Workspace, Stream&) override;
    void fill_zero(const FillZero& op, Stream&) override {
        std::memset(op.x.data(), 0, op.x.bytes().size());
    }
    void copy(const Copy& op, Stream&) override;
    void add(const Add& op, Stream&) override {
        for (std::int64_t i = 0; i < op.x.num_elements(); ++i)
            of(op.y)[i] += of(op.x)[i];
    }
    void sum_squares(const SumSquares& op, Stream&) override;
    void clip_factor(const ClipFactor& op, Stream&) override;
    void adamw(const AdamW& op, Stream&) override;

private:
    static T* of(const TensorView& tensor) { return tensor.as<T>(); }
    static const T* weight_of(const PreparedWeight* prepared) {
        return of(dynamic_cast<const NaiveWeight&>(*prepared).view);
    }
    static T dot(const T* a, const T* b, std::int64_t size) {
        T sum = 0;
        for (std::int64_t i = 0; i < size; ++i)
            sum += a[i] * b[i];
        return sum;
    }
    static T sigmoid(T x) { return 1 / (1 + std::exp(-x)); }

    std::unique_ptr<Device> device_ = make_host_device();
};

template <typename T>
void NaiveKernels<T>::linear_fwd(const LinearFwd& op, Workspace, Stream&) {
    const std::int64_t N = op.y.dim(1), K = op.x.dim(1);
    for (std::int64_t i = 0; i < op.y.num_elements(); ++i) {
        const T sum = dot(of(op.x) + i / N * K, weight_of(op.weight) + i % N * K, K);
        of(op.y)[i] = op.into == Into::add ? of(op.y)[i] + sum : sum;
    }
}

template <typename T>
void NaiveKernels<T>::linear_bwd_input(const LinearBwdInput& op, Workspace, Stream&) {
    const std::int64_t N = op.d_y.dim(1), K = op.d_x.dim(1);
    for (std::int64_t i = 0; i < op.d_x.num_elements(); ++i) {
        const T* d_y = of(op.d_y) + i / K * N;
        const T* w = weight_of(op.weight) + i % K;
        T sum = 0;
        for (std::int64_t n = 0; n < N; ++n)
            sum += d_y[n] * w[n * K];
        of(op.d_x)[i] = op.into == Into::add ? of(op.d_x)[i] + sum : sum;
    }
}

template <typename T>
void NaiveKernels<T>::linear_bwd_weight(const LinearBwdWeight& op, Workspace, Stream&) {
    const std::int64_t N = op.d_y.dim(1), K = op.x.dim(1);
    for (std::int64_t i = 0; i < op.d_weight.num_elements(); ++i) {
        const T* d_y = of(op.d_y) + i / K;
        const T* x = of(op.x) + i % K;
        T sum = 0;
        for (std::int64_t t = 0; t < op.x.dim(0); ++t)
            sum += d_y[t * N] * x[t * K];
        of(op.d_weight)[i] += sum;
    }
}

template <typename T>
void NaiveKernels<T>::rmsnorm_fwd(const RmsNormFwd& op, Stream&) {
    const std::int64_t C = op.x.dim(1);
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const T* x = of(op.x) + t * C;
        const T mean = dot(x, x, C) / static_cast<T>(C);
        const T rstd = 1 / std::sqrt(mean + static_cast<T>(op.eps));
        of(op.rstd)[t] = rstd;
        for (std::int64_t c = 0; c < C; ++c)
            of(op.y)[t * C + c] = x[c] * rstd * of(op.weight)[c];
    }
}

template <typename T>
void NaiveKernels<T>::rmsnorm_bwd(const RmsNormBwd& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1);
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const T* x = of(op.x) + t * C;
        const T* d_y = of(op.d_y) + t * C;
        const T rstd = of(op.rstd)[t];
        T sum = 0;
        for (std::int64_t c = 0; c < C; ++c)
            sum += d_y[c] * of(op.weight)[c] * x[c];
        for (std::int64_t c = 0; c < C; ++c) {
            const T pull = x[c] * rstd * rstd * rstd * sum / static_cast<T>(C);
            of(op.d_x)[t * C + c] += rstd * d_y[c] * of(op.weight)[c] - pull;
            of(op.d_weight)[c] += d_y[c] * x[c] * rstd;
        }
    }
}

template <typename T>
void NaiveKernels<T>::rope_table(const RopeTable& op, Stream&) {
    const auto half = static_cast<std::int64_t>(op.inv_freq.size());
    const auto tokens = naive_tokens(op.runs);
    for (std::int64_t i = 0; i < op.cos.num_elements(); ++i) {
        const std::int64_t position = tokens[i / half].position;
        const double frequency = op.inv_freq[static_cast<std::size_t>(i % half)];
        // fp64 by contract: f32 angles are wrong by far more than rounding.
        const double angle =
            std::fmod(static_cast<double>(position) * frequency, 2 * std::numbers::pi);
        of(op.cos)[i] = static_cast<T>(op.scale * std::cos(angle));
        of(op.sin)[i] = static_cast<T>(op.scale * std::sin(angle));
    }
}

template <typename T>
void NaiveKernels<T>::rope_apply(const RopeApply& op, Stream&) {
    const std::int64_t H = op.x.dim(1), half = op.x.dim(2) / 2;
    const T sign = op.rotation == Rotation::forward ? 1 : -1;
    for (std::int64_t row = 0; row < op.x.dim(0) * H; ++row) {
        T* x = of(op.x) + row * 2 * half;
        for (std::int64_t i = 0; i < half; ++i) {
            const T cos = of(op.cos)[row / H * half + i];
            const T sin = sign * of(op.sin)[row / H * half + i];
            const T low = x[i], high = x[i + half];
            x[i] = low * cos - high * sin;
            x[i + half] = high * cos + low * sin;
        }
    }
}

template <typename T>
void NaiveKernels<T>::swiglu_fwd(const SwigluFwd& op, Stream&) {
    for (std::int64_t i = 0; i < op.h.num_elements(); ++i) {
        const T gate = of(op.gate)[i];
        of(op.h)[i] = gate * sigmoid(gate) * of(op.up)[i];
    }
}

template <typename T>
void NaiveKernels<T>::swiglu_bwd(const SwigluBwd& op, Stream&) {
    for (std::int64_t i = 0; i < op.d_h.num_elements(); ++i) {
        const T gate = of(op.gate)[i], s = sigmoid(gate), d_h = of(op.d_h)[i];
        of(op.d_up)[i] = d_h * gate * s;
        of(op.d_gate)[i] = d_h * of(op.up)[i] * (s + gate * s * (1 - s));
    }
}

template <typename T>
void NaiveKernels<T>::embedding_fwd(const EmbeddingFwd& op, Stream&) {
    const std::int64_t C = op.x.dim(1);
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
        of(op.x)[i] = of(op.table)[op.tokens.as<std::int32_t>()[i / C] * C + i % C];
    }
}

template <typename T>
void NaiveKernels<T>::embedding_bwd(const EmbeddingBwd& op, Stream&) {
    const std::int64_t C = op.d_x.dim(1);
    for (std::int64_t i = 0; i < op.d_x.num_elements(); ++i) {
        of(op.d_table)[op.tokens.as<std::int32_t>()[i / C] * C + i % C] += of(op.d_x)[i];
    }
}

template <typename T>
void NaiveKernels<T>::linear_cross_entropy(const LinearCrossEntropy& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1), V = op.head->num_rows();
    const T* w = weight_of(op.head);
    std::vector<T> logits(static_cast<std::size_t>(V));
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const T* x = of(op.x) + t * C;
        if (!op.d_x.empty()) std::fill_n(of(op.d_x) + t * C, C, T(0));
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        if (target == kIgnoreTarget) continue;
        for (std::int64_t v = 0; v < V; ++v)
            logits[static_cast<std::size_t>(v)] = dot(x, w + v * C, C);
        const T max = *std::max_element(logits.begin(), logits.end());
        T sum = 0;
        for (const T logit : logits)
            sum += std::exp(logit - max);
        const T lse = max + std::log(sum);
        *op.loss_sum.as<double>() += lse - logits[static_cast<std::size_t>(target)];
        if (op.d_x.empty()) continue;
        for (std::int64_t v = 0; v < V; ++v) {
            const T p = std::exp(logits[static_cast<std::size_t>(v)] - lse);
            const T d_logit = static_cast<T>(op.scale) * (p - (v == target ? T(1) : T(0)));
            T* d_x = of(op.d_x) + t * C;
            T* d_head = of(op.d_head) + v * C;
            for (std::int64_t c = 0; c < C; ++c) {
                d_x[c] += d_logit * w[v * C + c];
                d_head[c] += d_logit * x[c];
            }
        }
    }
}

template <typename T>
void NaiveKernels<T>::attention_begin(const AttentionBegin& op, Stream&) {
    std::fill_n(of(op.state.acc), op.state.acc.num_elements(), T(0));
    std::fill_n(of(op.state.m), op.state.m.num_elements(), -std::numeric_limits<T>::infinity());
    std::fill_n(of(op.state.l), op.state.l.num_elements(), T(0));
}

template <typename T>
void NaiveKernels<T>::attention_fwd(const AttentionFwd& op, Workspace, Stream&) {
    const std::int64_t Hq = op.q.dim(1), D = op.q.dim(2), Hk = op.k.dim(1);
    const auto queries = naive_tokens(op.q_runs), keys = naive_tokens(op.kv_runs);
    std::vector<T> scores(keys.size());
    for (std::int64_t row = 0; row < op.q.dim(0) * Hq; ++row) {
        const std::int64_t hk = row % Hq / (Hq / Hk);
        const T before = of(op.state.m)[row];
        T max = before;
        for (std::int64_t s = 0; s < op.k.dim(0); ++s) {
            const bool seen = naive_sees(queries[row / Hq], keys[s]);
            const T product = dot(of(op.q) + row * D, of(op.k) + (s * Hk + hk) * D, D);
            scores[static_cast<std::size_t>(s)] =
                seen ? static_cast<T>(op.scale) * product : -std::numeric_limits<T>::infinity();
            max = std::max(max, scores[static_cast<std::size_t>(s)]);
        }
        if (std::isinf(max)) continue;
        T* acc = of(op.state.acc) + row * D;
        const T keep = std::exp(before - max);
        for (std::int64_t d = 0; d < D; ++d)
            acc[d] *= keep;
        of(op.state.l)[row] *= keep;
        of(op.state.m)[row] = max;
        for (std::int64_t s = 0; s < op.k.dim(0); ++s) {
            const T p = std::exp(scores[static_cast<std::size_t>(s)] - max);
            of(op.state.l)[row] += p;
            for (std::int64_t d = 0; d < D; ++d)
                acc[d] += p * of(op.v)[(s * Hk + hk) * D + d];
        }
    }
}

template <typename T>
void NaiveKernels<T>::attention_finish(const AttentionFinish& op, Stream&) {
    const std::int64_t D = op.out.dim(2);
    for (std::int64_t row = 0; row < op.lse.num_elements(); ++row) {
        const T l = of(op.state.l)[row];
        of(op.lse)[row] = of(op.state.m)[row] + std::log(l);
        for (std::int64_t d = 0; d < D; ++d) {
            of(op.out)[row * D + d] = l == 0 ? T(0) : of(op.state.acc)[row * D + d] / l;
        }
    }
}

template <typename T>
void NaiveKernels<T>::attention_delta(const AttentionDelta& op, Stream&) {
    const std::int64_t D = op.out.dim(2);
    for (std::int64_t row = 0; row < op.delta.num_elements(); ++row) {
        of(op.delta)[row] = dot(of(op.d_out) + row * D, of(op.out) + row * D, D);
    }
}

template <typename T>
void NaiveKernels<T>::attention_bwd(const AttentionBwd& op, Workspace, Stream&) {
    const std::int64_t Hq = op.q.dim(1), D = op.q.dim(2), Hk = op.k.dim(1);
    const auto queries = naive_tokens(op.q_runs), keys = naive_tokens(op.kv_runs);
    const auto scale = static_cast<T>(op.scale);
    for (std::int64_t row = 0; row < op.q.dim(0) * Hq; ++row) {
        for (std::int64_t s = 0; s < op.k.dim(0); ++s) {
            if (!naive_sees(queries[row / Hq], keys[s])) continue;
            const std::int64_t at_q = row * D;
            const std::int64_t at_k = (s * Hk + row % Hq / (Hq / Hk)) * D;
            const T *q = of(op.q) + at_q, *k = of(op.k) + at_k, *d_out = of(op.d_out) + at_q;
            T *d_q = of(op.d_q) + at_q, *d_k = of(op.d_k) + at_k, *d_v = of(op.d_v) + at_k;
            const T p = std::exp(scale * dot(q, k, D) - of(op.lse)[row]);
            const T d_p = dot(d_out, of(op.v) + at_k, D);
            const T d_score = scale * p * (d_p - of(op.delta)[row]);
            for (std::int64_t d = 0; d < D; ++d) {
                d_q[d] += d_score * k[d];
                d_k[d] += d_score * q[d];
                d_v[d] += p * d_out[d];
            }
        }
    }
}

template <typename T>
void NaiveKernels<T>::copy(const Copy& op, Stream&) {
    const auto load = [&](std::int64_t i) -> double {
        return op.from.dtype() == DType::f64 ? op.from.as<double>()[i] : op.from.as<float>()[i];
    };
    for (std::int64_t i = 0; i < op.from.num_elements(); ++i) {
        if (op.to.dtype() == DType::f64) {
            op.to.as<double>()[i] = load(i);
        } else {
            op.to.as<float>()[i] = static_cast<float>(load(i));
        }
    }
}

// Backwards, so that the yardstick is not the oracle's own order of summation.
template <typename T>
void NaiveKernels<T>::sum_squares(const SumSquares& op, Stream&) {
    double& sum = *op.sum.as<double>();
    for (std::int64_t i = op.x.num_elements(); i-- > 0;) {
        sum += static_cast<double>(of(op.x)[i]) * static_cast<double>(of(op.x)[i]);
    }
}

template <typename T>
void NaiveKernels<T>::clip_factor(const ClipFactor& op, Stream&) {
    const double norm = std::sqrt(*op.sum.as<double>());
    double* out = op.out.as<double>();
    out[0] = norm;
    out[1] = op.max_norm > 0 ? std::min(1.0, op.max_norm / norm) : 1;
    out[2] = std::isfinite(norm) ? 1 : 0;
}

template <typename T>
void NaiveKernels<T>::adamw(const AdamW& op, Stream&) {
    const double* clip = op.clip.as<double>();
    if (clip[2] == 0) return;
    const auto beta1 = static_cast<T>(op.beta1), beta2 = static_cast<T>(op.beta2);
    const T correction1 = static_cast<T>(1 - std::pow(op.beta1, op.step));
    const T correction2 = static_cast<T>(1 - std::pow(op.beta2, op.step));
    for (std::int64_t i = 0; i < op.weight.num_elements(); ++i) {
        T &w = of(op.weight)[i], &m = of(op.m)[i], &v = of(op.v)[i];
        const T grad = of(op.grad)[i] * static_cast<T>(clip[1]);
        m = beta1 * m + (1 - beta1) * grad;
        v = beta2 * v + (1 - beta2) * grad * grad;
        const T root = std::sqrt(v / correction2) + static_cast<T>(op.eps);
        const T step = m / correction1 / root + static_cast<T>(op.weight_decay) * w;
        w -= static_cast<T>(op.learning_rate) * step;
    }
}

}  // namespace rm::test
