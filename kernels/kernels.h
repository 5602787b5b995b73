#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "kernels/device.h"
#include "kernels/tensor.h"

// The contract between the engine and a machine: one pure virtual per op, asynchronous on a Stream.
// Implementations: ref (fp64 oracle), cpu, cuda, emu (cuda's kernels on an emulator), meta (which
// only records).
//
// Dims: T query tokens here, S key tokens here, C hidden, Hq/Hk query and key-value heads, D head
// dim, F feed-forward, V vocabulary, N/K rows and columns of a weight as Hugging Face stores it.
// dtypes: `compute` (activations), `accum` (sums, gradients of weights, states), `master`
// (weights); see Kernels::types(). Scalars that live on the device are f64. Arguments are views and
// spans: what they point to must live until the stream has passed the op.
namespace rm {

// bytes of scratch an op may use while it runs; asked for with Kernels::workspace_bytes.
struct Workspace {
    void* data = nullptr;
    Bytes size;
};

enum class Into { overwrite, add };  // where a result goes: replaces, or is summed into, the target

// A weight (N, K) in the form its backend's GEMM wants (oneDNN: packed W and W^T). Made once,
// filled by Kernels::prepare after each optimizer step or gather.
class PreparedWeight {
public:
    virtual ~PreparedWeight() = default;
    virtual std::int64_t num_rows() const = 0;     // N, the output features
    virtual std::int64_t num_columns() const = 0;  // K, the input features
};

// y = x W^T
struct LinearFwd {
    TensorView x;  // (T, K) compute
    const PreparedWeight* weight = nullptr;
    TensorView y;  // (T, N) compute
    Into into = Into::overwrite;
};
// d_x = d_y W
struct LinearBwdInput {
    TensorView d_y;  // (T, N) compute
    const PreparedWeight* weight = nullptr;
    TensorView d_x;  // (T, K) compute
    Into into = Into::overwrite;
};
// d_weight += d_y^T x
struct LinearBwdWeight {
    TensorView d_y;       // (T, N) compute
    TensorView x;         // (T, K) compute
    TensorView d_weight;  // (N, K) accum
};

// y = x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich, 2019)
struct RmsNormFwd {
    TensorView x;       // (T, C) compute
    TensorView weight;  // (C) master
    TensorView y;       // (T, C) compute
    TensorView rstd;    // (T) accum, out
    double eps = 1e-5;
};
struct RmsNormBwd {
    TensorView d_y;       // (T, C) compute
    TensorView x;         // (T, C) compute
    TensorView weight;    // (C) master
    TensorView rstd;      // (T) accum
    TensorView d_x;       // (T, C) compute, summed into
    TensorView d_weight;  // (C) accum, summed into
};

// Rotary tables of the tokens in `runs`. The angle position * inv_freq[i] is formed in fp64 and
// reduced mod 2 pi before cos and sin; `scale` multiplies both (YaRN's attention factor).
struct RopeTable {
    std::span<const Run> runs;
    std::span<const double> inv_freq;  // D / 2
    double scale = 1;
    TensorView cos;  // (T, D/2) accum
    TensorView sin;  // (T, D/2) accum
};
enum class Rotation { forward, backward };
// Rotates pairs (i, i + D/2) of every head in place (the Hugging Face layout).
struct RopeApply {
    TensorView x;    // (T, H, D) compute
    TensorView cos;  // (T, D/2) accum
    TensorView sin;  // (T, D/2) accum
    Rotation rotation = Rotation::forward;
};

// h = silu(gate) * up
struct SwigluFwd {
    TensorView gate;  // (T, F) compute
    TensorView up;    // (T, F) compute
    TensorView h;     // (T, F) compute
};
struct SwigluBwd {
    TensorView d_h;     // (T, F) compute
    TensorView gate;    // (T, F) compute
    TensorView up;      // (T, F) compute
    TensorView d_gate;  // (T, F) compute; may be d_h
    TensorView d_up;    // (T, F) compute
};

// Which rows of a tensor of `total` rows a view holds: of an embedding or a head that is cut by
// rows over ranks. total 0: the view is all of it.
struct RowShare {
    std::int64_t first = 0;
    std::int64_t total = 0;
};

// A token outside the vocabulary is an error of the stream. A device cannot raise one: there the
// token's row is NaN, and so is the loss. A token whose row another rank has gives zeros.
struct EmbeddingFwd {
    TensorView tokens;  // (T) i32, each in [0, V)
    TensorView table;   // (V here, C) master or compute
    TensorView x;       // (T, C) compute
    RowShare rows = {};
};
// d_table[token] += d_x, in token order: deterministic. Tokens of other ranks' rows add nothing.
struct EmbeddingBwd {
    TensorView tokens;   // (T) i32
    TensorView d_x;      // (T, C) compute
    TensorView d_table;  // (V here, C) accum
    RowShare rows = {};
};

constexpr std::int32_t kIgnoreTarget = -1;

// Linear head and cross entropy in one op, so that logits for all tokens never exist at once.
// loss_sum += sum over rows with a target of (logsumexp(x W^T) - logit[target]), unscaled;
// gradients are those of scale * that sum. With d_x empty only the loss is computed. A target
// outside the vocabulary is an error of the stream; on a device it makes loss and gradients NaN.
struct LinearCrossEntropy {
    TensorView x;  // (T, C) compute
    const PreparedWeight* head = nullptr;
    TensorView targets;   // (T) i32, kIgnoreTarget: no loss
    double scale = 1;     // 1 / targets counted in the whole step
    TensorView loss_sum;  // (1) f64, summed into
    TensorView d_x;       // (T, C) compute, overwritten; empty: forward only
    TensorView d_head;    // (V, C) accum, summed into
};

// The same loss when the head is cut by rows over ranks (vocabulary-parallel, Megatron-LM), in
// three ops. First each rank's softmax statistics over its own rows, per token: the largest logit
// m, the sum of exp(logit - m), and the target's logit where its row is here, else 0. Tokens
// without a target give zeros. Logits of all tokens never exist at once.
struct HeadStatistics {
    TensorView x;  // (T, C) compute
    const PreparedWeight* head = nullptr;
    TensorView targets;  // (T) i32, kIgnoreTarget: no loss
    RowShare rows = {};
    TensorView statistics;  // (T, 3) f64: m, sum, target logit
};
// Then those of all ranks, merged in rank order: the same bits on each of them.
struct CombineHeadStatistics {
    TensorView parts;     // (G, T, 3) f64
    TensorView targets;   // (T) i32
    TensorView lse;       // (T) f64, logsumexp over the whole vocabulary; 0 without a target
    TensorView loss_sum;  // (1) f64, summed into: lse - target logit
};
// Then gradients of scale * loss_sum from logits that are formed again. d_x is this rank's share.
struct HeadBwd {
    TensorView x;  // (T, C) compute
    const PreparedWeight* head = nullptr;
    TensorView targets;  // (T) i32
    RowShare rows = {};
    TensorView lse;  // (T) f64
    double scale = 1;
    TensorView d_x;     // (T, C) compute, overwritten
    TensorView d_head;  // (V here, C) accum, summed into
};

// The running state of attention: unnormalised output, row maximum and row sum, exactly what the
// kernel holds in registers, so that cutting one call into several at tile boundaries changes no
// bit. m and l are the backend's own (only attention_finish interprets them).
struct AttentionState {
    TensorView acc;  // (T, Hq, D) accum
    TensorView m;    // (T, Hq) accum
    TensorView l;    // (T, Hq) accum
};
struct AttentionBegin {
    AttentionState state;  // becomes the state that has seen no key
};
// Merges the keys and values of one block into the state. A query of `q_runs` sees a key of
// `kv_runs` when both have the same document and the key's position is not later; tiles that see
// nothing are skipped. Online softmax: Milakov and Gimelshein 2018; tiling: FlashAttention-2.
struct AttentionFwd {
    AttentionState state;
    TensorView q;                  // (T, Hq, D) compute
    TensorView k;                  // (S, Hk, D) compute
    TensorView v;                  // (S, Hk, D) compute
    std::span<const Run> q_runs;   // T tokens
    std::span<const Run> kv_runs;  // S tokens
    double scale = 1;              // 1 / sqrt(D)
};
// out = acc / l; lse = m + log(l). A row that saw no key gives out = 0 and lse = -inf.
struct AttentionFinish {
    AttentionState state;
    TensorView out;  // (T, Hq, D) compute
    TensorView lse;  // (T, Hq) accum, natural log
};
// delta = rowsum(d_out * out)
struct AttentionDelta {
    TensorView d_out;  // (T, Hq, D) compute
    TensorView out;    // (T, Hq, D) compute
    TensorView delta;  // (T, Hq) accum
};
struct AttentionBwd {
    TensorView q;                  // (T, Hq, D) compute
    TensorView k;                  // (S, Hk, D) compute
    TensorView v;                  // (S, Hk, D) compute
    TensorView d_out;              // (T, Hq, D) compute
    TensorView lse;                // (T, Hq) accum
    TensorView delta;              // (T, Hq) accum
    std::span<const Run> q_runs;   // T tokens
    std::span<const Run> kv_runs;  // S tokens
    double scale = 1;
    TensorView d_q;  // (T, Hq, D) accum, summed into
    TensorView d_k;  // (S, Hk, D) accum, summed into
    TensorView d_v;  // (S, Hk, D) accum, summed into
};

struct FillZero {
    TensorView x;
};
struct Copy {  // also converts dtype
    TensorView from;
    TensorView to;  // as many elements
};
struct Add {  // y += x
    TensorView x;
    TensorView y;
};

// to[:, to_first + i, :] = from[:, from_first + i, :] for i in [0, count), converted to the
// target's dtype; Into::add adds (in accum, rounded once). How heads are cut, replicated and
// joined.
struct CopyHeads {
    TensorView from;  // (T, A, D) compute or accum
    TensorView to;    // (T, B, D) compute or accum
    std::int64_t from_first = 0;
    std::int64_t to_first = 0;
    std::int64_t count = 0;
    Into into = Into::overwrite;
};
// y = the sum of G parts, or is added to: formed in accum, in the order of the parts (y first), and
// rounded once.
struct SumParts {
    TensorView parts;  // (G, ...) compute or accum
    TensorView y;      // (...) of the same dtype
    Into into = Into::overwrite;
};

// sum += sum of squares, in f64.
struct SumSquares {
    TensorView x;    // any shape, accum
    TensorView sum;  // (1) f64, summed into
};
// From the squared norm of all gradients: norm, the factor min(1, max_norm / norm), and whether the
// norm is finite (1 or 0). max_norm <= 0 never clips.
struct ClipFactor {
    TensorView sum;  // (1) f64
    double max_norm = 0;
    TensorView out;  // (3) f64: norm, factor, finite
};
// AdamW (Loshchilov and Hutter, 2019) with bias correction. Does nothing when clip says not finite.
// Moments in bf16 are rounded stochastically: up with the probability that makes the expectation
// exact, drawn from (rounding_seed, step, the element's index in the whole tensor), so that any cut
// of a tensor over ranks gives the same bits. The update uses the moments before they are rounded.
struct AdamW {
    TensorView weight;  // master
    TensorView grad;    // accum
    TensorView m;       // accum or bf16
    TensorView v;       // like m
    TensorView clip;    // (3) f64, of ClipFactor
    double learning_rate = 0;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0;
    std::int64_t step = 1;            // 1 on the first update
    std::uint64_t rounding_seed = 0;  // one per tensor
    // With p = first_element + i, element i is element p of the whole tensor; or, when that is cut
    // by columns (`columns` > 0 of them here), (p / columns) * all_columns + first_column +
    // p % columns.
    std::int64_t first_element = 0;
    std::int64_t columns = 0;
    std::int64_t all_columns = 0;
    std::int64_t first_column = 0;
};

struct NumericTypes {
    DType compute = DType::f32;
    DType accum = DType::f32;
    DType master = DType::f32;
};

class Kernels {
public:
    virtual ~Kernels() = default;
    virtual std::string_view name() const = 0;
    virtual NumericTypes types() const = 0;
    virtual Device& device() = 0;

    virtual Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns) const = 0;
    virtual std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows,
                                                          std::int64_t num_columns) = 0;
    // `weight` is master or compute; the same bits from either.
    virtual void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) = 0;

    // Scratch each op needs; pure, reads shapes only (views may have no memory). Ops without an
    // overload need none.
    virtual Bytes workspace_bytes(const LinearFwd& op) const = 0;
    virtual Bytes workspace_bytes(const LinearBwdInput& op) const = 0;
    virtual Bytes workspace_bytes(const LinearBwdWeight& op) const = 0;
    virtual Bytes workspace_bytes(const RmsNormBwd& op) const = 0;
    virtual Bytes workspace_bytes(const LinearCrossEntropy& op) const = 0;
    virtual Bytes workspace_bytes(const HeadStatistics& op) const = 0;
    virtual Bytes workspace_bytes(const HeadBwd& op) const = 0;
    virtual Bytes workspace_bytes(const AttentionFwd& op) const = 0;
    virtual Bytes workspace_bytes(const AttentionBwd& op) const = 0;
    virtual Bytes workspace_bytes(const SumSquares& op) const = 0;

    virtual void linear_fwd(const LinearFwd& op, Workspace workspace, Stream& stream) = 0;
    virtual void linear_bwd_input(const LinearBwdInput& op, Workspace workspace,
                                  Stream& stream) = 0;
    virtual void linear_bwd_weight(const LinearBwdWeight& op, Workspace workspace,
                                   Stream& stream) = 0;
    virtual void rmsnorm_fwd(const RmsNormFwd& op, Stream& stream) = 0;
    virtual void rmsnorm_bwd(const RmsNormBwd& op, Workspace workspace, Stream& stream) = 0;
    virtual void rope_table(const RopeTable& op, Stream& stream) = 0;
    virtual void rope_apply(const RopeApply& op, Stream& stream) = 0;
    virtual void swiglu_fwd(const SwigluFwd& op, Stream& stream) = 0;
    virtual void swiglu_bwd(const SwigluBwd& op, Stream& stream) = 0;
    virtual void embedding_fwd(const EmbeddingFwd& op, Stream& stream) = 0;
    virtual void embedding_bwd(const EmbeddingBwd& op, Stream& stream) = 0;
    virtual void linear_cross_entropy(const LinearCrossEntropy& op, Workspace workspace,
                                      Stream& stream) = 0;
    virtual void head_statistics(const HeadStatistics& op, Workspace workspace, Stream& stream) = 0;
    virtual void combine_head_statistics(const CombineHeadStatistics& op, Stream& stream) = 0;
    virtual void head_bwd(const HeadBwd& op, Workspace workspace, Stream& stream) = 0;
    virtual void attention_begin(const AttentionBegin& op, Stream& stream) = 0;
    virtual void attention_fwd(const AttentionFwd& op, Workspace workspace, Stream& stream) = 0;
    virtual void attention_finish(const AttentionFinish& op, Stream& stream) = 0;
    virtual void attention_delta(const AttentionDelta& op, Stream& stream) = 0;
    virtual void attention_bwd(const AttentionBwd& op, Workspace workspace, Stream& stream) = 0;
    virtual void fill_zero(const FillZero& op, Stream& stream) = 0;
    virtual void copy(const Copy& op, Stream& stream) = 0;
    virtual void add(const Add& op, Stream& stream) = 0;
    virtual void copy_heads(const CopyHeads& op, Stream& stream) = 0;
    virtual void sum_parts(const SumParts& op, Stream& stream) = 0;
    virtual void sum_squares(const SumSquares& op, Workspace workspace, Stream& stream) = 0;
    virtual void clip_factor(const ClipFactor& op, Stream& stream) = 0;
    virtual void adamw(const AdamW& op, Stream& stream) = 0;
};

}  // namespace rm
