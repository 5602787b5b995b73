#include "kernels/attention_8bit.h"

#include "kernels/ref/ref_ops.h"

// Attention with the roundings of kernels/attention_8bit.h, and all else in fp64.
namespace rm::ref {
namespace {

// A head of consecutive tokens of (tokens, heads, D), in f32.
std::vector<float> narrowed(const TensorView& x, std::int64_t token, std::int64_t count,
                            std::int64_t head) {
    const std::int64_t heads = x.dim(1), D = x.dim(2);
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count * D; ++i) {
        const std::int64_t at = ((token + i / D) * heads + head) * D + i % D;
        numbers.push_back(static_cast<float>(x.as<double>()[at]));
    }
    return numbers;
}

// Rounded keys and values of one head: codes, as numbers.
struct RefKeyBlock {
    std::int64_t D = 0, count = 0;
    std::int64_t position = 0;  // of the first
    std::vector<float> k, v, centre;
    double k_scale = 0, v_scale = 0;
};
RefKeyBlock key_block(const AttentionFwd8& op, std::int64_t token, std::int64_t count,
                      std::int64_t position, std::int64_t head) {
    RefKeyBlock block{.D = op.k.dim(2),
                      .count = count,
                      .position = position,
                      .k = narrowed(op.k, token, count, head),
                      .v = narrowed(op.v, token, count, head)};
    block.centre = take_centre(block.k, block.D);
    block.k_scale = round_to_int8(block.k);
    block.v_scale = round_to_e4m3(block.v);
    return block;
}

double dot(const float* a, const float* b, std::int64_t size) {
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i)
        sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

struct RefQuery {
    std::vector<float> numbers, codes;
    double scale = 0;
};

// Scores of the first `seen` keys.
std::vector<double> scores_of(const RefQuery& q, const RefKeyBlock& block, std::int64_t seen,
                              double scale) {
    const double centre = dot(q.numbers.data(), block.centre.data(), block.D);
    std::vector<double> scores;
    for (std::int64_t s = 0; s < seen; ++s) {
        const double codes = dot(q.codes.data(), block.k.data() + s * block.D, block.D);
        scores.push_back(scale * (codes * (q.scale * block.k_scale) + centre));
    }
    return scores;
}

// One softmax step of a row (t, h).
void merge(const AttentionState& state, std::int64_t row, const std::vector<double>& scores,
           const RefKeyBlock& block) {
    double* acc = state.acc.as<double>() + row * block.D;
    double& m = state.m.as<double>()[row];
    double& l = state.l.as<double>()[row];
    double max = m;
    for (const double score : scores)
        max = std::max(max, score);
    const double base = std::isinf(max) ? 0 : max, keep = std::exp(m - base);
    l *= keep;
    for (std::int64_t d = 0; d < block.D; ++d)
        acc[d] *= keep;
    for (std::size_t s = 0; s < scores.size(); ++s) {
        const double p = std::exp(scores[s] - base);
        const double rounded = round_probability(p) * block.v_scale;
        for (std::int64_t d = 0; d < block.D; ++d)
            acc[d] += rounded * block.v[s * usize(block.D) + usize(d)];
        l += p;
    }
    m = max;
}

// All queries of the heads of `kv_head` that see keys of the block.
void merge_block(const AttentionFwd8& op, const RefKeyBlock& block, std::int32_t document,
                 std::int64_t kv_head) {
    const std::int64_t Hq = op.q.dim(1), group = Hq / op.k.dim(1);
    std::int64_t t = 0;
    for (const Run& run : op.q_runs) {
        for (std::int64_t i = 0; i < run.length; ++i, ++t) {
            const std::int64_t seen = std::min(block.count, run.first + i - block.position + 1);
            if (run.document != document || seen <= 0) continue;
            for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
                RefQuery q{.numbers = narrowed(op.q, t, 1, h)};
                q.codes = q.numbers;
                q.scale = round_to_int8(q.codes);
                merge(op.state, t * Hq + h, scores_of(q, block, seen, op.scale), block);
            }
        }
    }
}

// A copy of x (tokens, heads, D) in which round(numbers) has rounded each head of each part. A part
// is one token where `part` is 1, else as many tokens of a run, counted from its start.
template <typename Round>
std::vector<double> rounded_copy(const TensorView& x, std::span<const Run> runs, std::int64_t part,
                                 const Round& round) {
    const std::int64_t heads = x.dim(1), D = x.dim(2);
    std::vector<double> copy(x.as<double>(), x.as<double>() + x.num_elements());
    std::int64_t token = 0;
    for (const Run& run : runs) {
        for (std::int64_t first = 0; first < run.length; first += part) {
            const std::int64_t count = std::min(part, run.length - first);
            for (std::int64_t head = 0; head < heads; ++head) {
                std::vector<float> numbers = narrowed(x, token + first, count, head);
                round(numbers);
                for (std::int64_t i = 0; i < count * D; ++i) {
                    const std::int64_t row = (token + first + i / D) * heads + head;
                    copy[usize(row * D + i % D)] = numbers[usize(i)];
                }
            }
        }
        token += run.length;
    }
    return copy;
}

}  // namespace

void run(const AttentionFwd8& op, const Dims& dims) {
    std::int64_t token = 0;
    for (const Run& run : op.kv_runs) {
        for (std::int64_t first = 0; first < run.length; first += kAttentionBlock) {
            const std::int64_t count = std::min(kAttentionBlock, run.length - first);
            for (std::int64_t hk = 0; run.document != kPaddingDocument && hk < dims["Hk"]; ++hk) {
                const RefKeyBlock block =
                    key_block(op, token + first, count, run.first + first, hk);
                merge_block(op, block, run.document, hk);
            }
        }
        token += run.length;
    }
}

void run(const AttentionBwd8& op, const Dims& dims) {
    std::vector<double> q = rounded_copy(op.q, op.q_runs, 1, to_rounded_query);
    std::vector<double> k =
        rounded_copy(op.k, op.kv_runs, kAttentionBlock,
                     [D = dims["D"]](std::vector<float>& block) { to_rounded_keys(block, D); });
    std::vector<double> v = rounded_copy(op.v, op.kv_runs, kAttentionBlock, to_rounded_values);
    const auto view = [](std::vector<double>& numbers, const TensorView& like) {
        return TensorView(numbers.data(), DType::f64, {like.dim(0), like.dim(1), like.dim(2)});
    };
    run(on_rounded(op, view(q, op.q), view(k, op.k), view(v, op.v)), dims);
}

}  // namespace rm::ref
