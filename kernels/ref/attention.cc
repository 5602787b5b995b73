#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Token {
    std::int32_t document = 0;
    std::int64_t position = 0;
};

std::vector<Token> expand(std::span<const Run> runs) {
    std::vector<Token> tokens;
    for (const Run& run : runs) {
        for (std::int64_t i = 0; i < run.length; ++i)
            tokens.push_back({run.document, run.first + i});
    }
    return tokens;
}

bool sees(const Token& q, const Token& k) {
    return q.document != kPaddingDocument && q.document == k.document && k.position <= q.position;
}

double dot(const double* a, const double* b, std::int64_t size) {
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i)
        sum += a[i] * b[i];
    return sum;
}

// Calls visit(t, h, s, hk) for every query row (t, h) and key s that it sees; t, h, s ascending.
template <typename Visit>
void for_each_pair(std::span<const Run> q_runs, std::span<const Run> kv_runs, const Dims& dims,
                   const Visit& visit) {
    const auto Hq = dims["Hq"], Hk = dims["Hk"];
    const std::vector<Token> queries = expand(q_runs);
    const std::vector<Token> keys = expand(kv_runs);
    for (std::size_t t = 0; t < queries.size(); ++t) {
        for (std::int64_t h = 0; h < Hq; ++h) {
            for (std::size_t s = 0; s < keys.size(); ++s) {
                if (!sees(queries[t], keys[s])) continue;
                visit(static_cast<std::int64_t>(t), h, static_cast<std::int64_t>(s), h / (Hq / Hk));
            }
        }
    }
}

}  // namespace

void run(const AttentionBegin& op, const Dims&) {
    std::fill_n(op.state.acc.as<double>(), op.state.acc.num_elements(), 0.0);
    std::fill_n(op.state.m.as<double>(), op.state.m.num_elements(), -kInf);
    std::fill_n(op.state.l.as<double>(), op.state.l.num_elements(), 0.0);
}

// Online softmax with blocks of one key: any cut of the keys gives the same bits.
void run(const AttentionFwd& op, const Dims& dims) {
    const auto Hq = dims["Hq"], Hk = dims["Hk"], D = dims["D"];
    for_each_pair(op.q_runs, op.kv_runs, dims, [&](auto t, auto h, auto s, auto hk) {
        const std::int64_t row = t * Hq + h;
        const double* k = op.k.as<double>() + (s * Hk + hk) * D;
        const double* v = op.v.as<double>() + (s * Hk + hk) * D;
        double* acc = op.state.acc.as<double>() + row * D;
        double& m = op.state.m.as<double>()[row];
        double& l = op.state.l.as<double>()[row];
        const double score = op.scale * dot(op.q.as<double>() + row * D, k, D);
        const double max = std::max(m, score);
        const double keep = std::exp(m - max);
        const double p = std::exp(score - max);
        for (std::int64_t d = 0; d < D; ++d)
            acc[d] = acc[d] * keep + p * v[d];
        l = l * keep + p;
        m = max;
    });
}

void run(const AttentionMerge& op, const Dims& dims) {
    const auto D = dims["D"];
    for (std::int64_t row = 0; row < op.state.m.num_elements(); ++row) {
        double& m = op.state.m.as<double>()[row];
        double& l = op.state.l.as<double>()[row];
        const double other_m = op.other.m.as<double>()[row];
        const double max = std::max(m, other_m);
        const double keep = m == max ? 1 : std::exp(m - max);
        const double take = other_m == max ? 1 : std::exp(other_m - max);
        double* acc = op.state.acc.as<double>() + row * D;
        const double* other = op.other.acc.as<double>() + row * D;
        for (std::int64_t d = 0; d < D; ++d)
            acc[d] = acc[d] * keep + other[d] * take;
        l = l * keep + op.other.l.as<double>()[row] * take;
        m = max;
    }
}

void run(const AttentionFinish& op, const Dims& dims) {
    const auto D = dims["D"];
    for (std::int64_t row = 0; row < op.lse.num_elements(); ++row) {
        const double* acc = op.state.acc.as<double>() + row * D;
        double* out = op.out.as<double>() + row * D;
        const double l = op.state.l.as<double>()[row];
        for (std::int64_t d = 0; d < D; ++d)
            out[d] = l == 0 ? 0 : acc[d] / l;
        op.lse.as<double>()[row] = l == 0 ? -kInf : op.state.m.as<double>()[row] + std::log(l);
    }
}

void run(const AttentionDelta& op, const Dims& dims) {
    const auto D = dims["D"];
    for (std::int64_t row = 0; row < op.delta.num_elements(); ++row) {
        op.delta.as<double>()[row] =
            dot(op.d_out.as<double>() + row * D, op.out.as<double>() + row * D, D);
    }
}

void run(const AttentionBwd& op, const Dims& dims) {
    const auto Hq = dims["Hq"], Hk = dims["Hk"], D = dims["D"];
    for_each_pair(op.q_runs, op.kv_runs, dims, [&](auto t, auto h, auto s, auto hk) {
        const std::int64_t row = t * Hq + h;
        const std::int64_t at_q = row * D;
        const std::int64_t at_k = (s * Hk + hk) * D;
        const double* q = op.q.as<double>() + at_q;
        const double* k = op.k.as<double>() + at_k;
        const double* d_out = op.d_out.as<double>() + at_q;
        const double p = std::exp(op.scale * dot(q, k, D) - op.lse.as<double>()[row]);
        const double d_p = dot(d_out, op.v.as<double>() + at_k, D);
        const double d_score = op.scale * p * (d_p - op.delta.as<double>()[row]);
        double* d_q = op.d_q.as<double>() + at_q;
        double* d_k = op.d_k.as<double>() + at_k;
        double* d_v = op.d_v.as<double>() + at_k;
        for (std::int64_t d = 0; d < D; ++d) {
            d_q[d] += d_score * k[d];
            d_k[d] += d_score * q[d];
            d_v[d] += p * d_out[d];
        }
    });
}

}  // namespace rm::ref
