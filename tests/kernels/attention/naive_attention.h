#pragma once

#include "tests/kernels/naive.h"

// The naive loops of attention.
namespace rm::test {

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionBegin& op, Workspace, Stream&) {
    std::fill_n(of(op.state.acc), op.state.acc.num_elements(), T(0));
    std::fill_n(of(op.state.m), op.state.m.num_elements(), -std::numeric_limits<T>::infinity());
    std::fill_n(of(op.state.l), op.state.l.num_elements(), T(0));
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionFwd& op, Workspace, Stream&) {
    const std::int64_t Hq = op.q.dim(1), D = op.q.dim(2), Hk = op.k.dim(1);
    const auto queries = naive_tokens(op.q_runs), keys = naive_tokens(op.kv_runs);
    In q(op.q), k(op.k), v(op.v);
    std::vector<T> scores(keys.size());
    for (std::int64_t row = 0; row < op.q.dim(0) * Hq; ++row) {
        const std::int64_t hk = row % Hq / (Hq / Hk);
        const T before = of(op.state.m)[row];
        T max = before;
        for (std::int64_t s = 0; s < op.k.dim(0); ++s) {
            const bool seen = naive_sees(queries[row / Hq], keys[s]);
            const T product = dot(q + row * D, k + (s * Hk + hk) * D, D);
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
                acc[d] += rounded(p) * v[(s * Hk + hk) * D + d];
        }
    }
}

// Without its roundings: the yardstick of attention in 8 bits is what they cost.
template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionFwd8& op, Workspace workspace, Stream& stream) {
    run(AttentionFwd{op.state, op.q, op.k, op.v, op.q_runs, op.kv_runs, op.scale}, workspace,
        stream);
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionMerge& op, Workspace, Stream&) {
    const std::int64_t D = op.state.acc.dim(2);
    for (std::int64_t row = 0; row < op.state.m.num_elements(); ++row) {
        T& m = of(op.state.m)[row];
        const T other_m = of(op.other.m)[row], max = std::max(m, other_m);
        if (std::isinf(max)) continue;
        const T keep = std::exp(m - max), take = std::exp(other_m - max);
        for (std::int64_t i = row * D; i < (row + 1) * D; ++i)
            of(op.state.acc)[i] = of(op.state.acc)[i] * keep + of(op.other.acc)[i] * take;
        of(op.state.l)[row] = of(op.state.l)[row] * keep + of(op.other.l)[row] * take;
        m = max;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionFinish& op, Workspace, Stream&) {
    const std::int64_t D = op.out.dim(2);
    Out out(op.out);
    for (std::int64_t row = 0; row < op.lse.num_elements(); ++row) {
        const T l = of(op.state.l)[row];
        of(op.lse)[row] = of(op.state.m)[row] + std::log(l);
        for (std::int64_t d = 0; d < D; ++d) {
            out[row * D + d] = l == 0 ? T(0) : of(op.state.acc)[row * D + d] / l;
        }
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionDelta& op, Workspace, Stream&) {
    const std::int64_t D = op.out.dim(2);
    In d_out(op.d_out), out(op.out);
    for (std::int64_t row = 0; row < op.delta.num_elements(); ++row) {
        of(op.delta)[row] = dot(d_out + row * D, out + row * D, D);
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionBwd& op, Workspace, Stream&) {
    const std::int64_t Hq = op.q.dim(1), D = op.q.dim(2), Hk = op.k.dim(1);
    const auto queries = naive_tokens(op.q_runs), keys = naive_tokens(op.kv_runs);
    const auto scale = static_cast<T>(op.scale);
    In all_q(op.q), all_k(op.k), all_v(op.v), all_d_out(op.d_out);
    for (std::int64_t row = 0; row < op.q.dim(0) * Hq; ++row) {
        for (std::int64_t s = 0; s < op.k.dim(0); ++s) {
            if (!naive_sees(queries[row / Hq], keys[s])) continue;
            const std::int64_t at_q = row * D;
            const std::int64_t at_k = (s * Hk + row % Hq / (Hq / Hk)) * D;
            const T *q = all_q + at_q, *k = all_k + at_k, *d_out = all_d_out + at_q;
            T *d_q = of(op.d_q) + at_q, *d_k = of(op.d_k) + at_k, *d_v = of(op.d_v) + at_k;
            const T p = std::exp(scale * dot(q, k, D) - of(op.lse)[row]);
            const T d_p = dot(d_out, all_v + at_k, D);
            const T d_score = rounded(scale * p * (d_p - of(op.delta)[row]));
            for (std::int64_t d = 0; d < D; ++d) {
                d_q[d] += d_score * k[d];
                d_k[d] += d_score * q[d];
                d_v[d] += rounded(p) * d_out[d];
            }
        }
    }
}

// Without its roundings, as forward.
template <typename T, typename S>
void NaiveKernels<T, S>::run(const AttentionBwd8& op, Workspace workspace, Stream& stream) {
    run(on_rounded(op, op.q, op.k, op.v), workspace, stream);
}

}  // namespace rm::test
