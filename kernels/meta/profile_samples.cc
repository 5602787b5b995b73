#include "kernels/meta/profile_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/bf16.h"

namespace rm {
namespace {

constexpr std::int64_t kTokenHeadDim = 64;

// So many tiles are worked on in turn, fewer where they are large.
std::int64_t num_tiles(std::int64_t elements) {
    return std::clamp<std::int64_t>((4 << 20) / elements, 1, 16);
}

// Rows [first, first + T) of the i-th call.
TensorView tile(const TensorView& x, std::int64_t T, std::int64_t call) {
    return x.rows(call % (x.dim(0) / T) * T, T);
}

// Small numbers that differ, over and over: large tensors are filled fast.
std::vector<float> small_numbers(std::int64_t count) {
    constexpr std::int64_t kPeriod = 1009;
    std::vector<float> numbers(usize(count));
    const std::int64_t first = std::min(count, kPeriod);
    for (std::int64_t i = 0; i < first; ++i)
        numbers[usize(i)] = static_cast<float>(i * 7919 % kPeriod + 1) / 2020;
    for (std::int64_t done = first; done < count; done *= 2)
        std::copy_n(numbers.begin(), std::min(done, count - done), numbers.begin() + done);
    return numbers;
}

}  // namespace

ProfileSampler::ProfileSampler(Kernels& kernels, std::function<double()> now)
    : kernels_(kernels), now_(std::move(now)), stream_(kernels.device().make_stream("profile")) {}

TensorView ProfileSampler::tensor(DType dtype, std::initializer_list<std::int64_t> shape) {
    const Tensor& made =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, dtype, shape);
    const std::vector<float> numbers = small_numbers(made->num_elements());
    if (dtype == DType::f32) {
        kernels_.device().write(numbers.data(), made);
    } else if (dtype == DType::bf16) {
        std::vector<Bf16> narrow(numbers.size());
        std::transform(numbers.begin(), numbers.end(), narrow.begin(), to_bf16);
        kernels_.device().write(narrow.data(), made);
    } else {
        const std::vector<double> wide(numbers.begin(), numbers.end());
        kernels_.device().write(wide.data(), made);
    }
    return made;
}

TensorView ProfileSampler::indices(std::int64_t count, std::int64_t below) {
    std::vector<std::int32_t> numbers(usize(count));
    for (std::int64_t i = 0; i < count; ++i)
        numbers[usize(i)] = static_cast<std::int32_t>(i * 7919 % below);
    const Tensor& made = tensors_.emplace_back(kernels_.device(), MemoryKind::data, DType::i32,
                                               std::initializer_list<std::int64_t>{count});
    kernels_.device().write(numbers.data(), made);
    return made;
}

const PreparedWeight& ProfileSampler::weight(std::int64_t num_rows, std::int64_t num_columns,
                                             WeightForm form) {
    PreparedWeight& made =
        *weights_.emplace_back(kernels_.make_prepared(num_rows, num_columns, form));
    kernels_.prepare(tensor(kernels_.types().master, {num_rows, num_columns}), made, *stream_);
    stream_->synchronize();
    return made;
}

void ProfileSampler::products(std::int64_t T, std::int64_t N, std::int64_t K) {
    const std::string shape = format("T {} N {} K {}", T, N, K);
    const std::int64_t rows = T * num_tiles(T * (N + K));
    const TensorView x = compute(rows, K), y = compute(rows, N), d_weight = accum({N, K});
    const PreparedWeight* w = &weight(N, K);
    add(shape, [=](std::int64_t i) {
        return LinearFwd{.x = tile(x, T, i), .weight = w, .y = tile(y, T, i)};
    });
    add(shape, [=](std::int64_t i) {
        return LinearBwdInput{.d_y = tile(y, T, i), .weight = w, .d_x = tile(x, T, i)};
    });
    add(shape, [=](std::int64_t i) {
        return LinearBwdWeight{.d_y = tile(y, T, i), .x = tile(x, T, i), .d_weight = d_weight};
    });
    if (kernels_.computes_fp8() && N % kFp8Align == 0 && K % kFp8Align == 0) {
        for (const Scaling scaling : {Scaling::current, Scaling::blocks})
            fp8_products(T, N, K, scaling);
    }
    const TensorView master = tensor(kernels_.types().master, {N, K});
    PreparedWeight* to =
        weights_.emplace_back(kernels_.make_prepared(N, K, WeightForm::compute)).get();
    const Bytes bytes = master.num_bytes() + kernels_.prepared_bytes(N, K, WeightForm::compute);
    add("prepare", shape, work_of_bytes(static_cast<double>(bytes.value)),
        [=, this](std::int64_t) { kernels_.prepare(master, *to, *stream_); });
}

Fp8Matrix ProfileSampler::codes(std::int64_t rows, std::int64_t columns, Scaling scaling) {
    const auto make = [&](DType dtype, std::initializer_list<std::int64_t> shape) {
        const Tensor& made =
            tensors_.emplace_back(kernels_.device(), MemoryKind::activations, dtype, shape);
        kernels_.device().zero(made);
        return made.view();
    };
    const TensorView codes = make(DType::u8, {rows, columns});
    if (scaling == Scaling::blocks) return {codes, make(DType::f32, {rows, fp8_blocks(columns)})};
    return {codes, make(DType::f32, {1})};
}

void ProfileSampler::fp8_products(std::int64_t T, std::int64_t N, std::int64_t K, Scaling scaling) {
    const std::string shape = format("T {} N {} K {}", T, N, K);
    const std::int64_t rows = T * num_tiles(T * (N + K)), P = padded_tokens(T);
    const TensorView x = compute(rows, K), y = compute(rows, N);
    const TensorView amax = tensor(DType::f32, {1}), d_weight = accum({N, K});
    const Fp8Matrix x_rows = codes(T, K, scaling), x_columns = codes(K, P, scaling);
    const Fp8Matrix d_y_rows = codes(T, N, scaling), d_y_columns = codes(N, P, scaling);
    const PreparedWeight* w = &weight(N, K, fp8_form(x_rows));
    add(shape, [=](std::int64_t i) {
        return Quantize{tile(x, T, i), x_rows, x_columns, amax, scaling};
    });
    add(shape, [=](std::int64_t i) { return Fp8LinearFwd{x_rows, w, tile(y, T, i)}; });
    add(shape, [=](std::int64_t i) { return Fp8LinearBwdInput{d_y_rows, w, tile(x, T, i)}; });
    add(shape, [=](std::int64_t) { return Fp8LinearBwdWeight{d_y_columns, x_columns, d_weight}; });
}

TensorView ProfileSampler::Activations::at(const TensorView& of, std::int64_t call) const {
    return tile(of, T, call);
}

void ProfileSampler::norms(const Activations& a) {
    const TensorView weight = tensor(kernels_.types().master, {a.C});
    const TensorView rstd = accum({a.rows}), d_weight = accum({a.C});
    add(a.shape, [=](std::int64_t i) {
        return RmsNormFwd{a.at(a.x, i), weight, a.at(a.y, i), a.at(rstd, i)};
    });
    add(a.shape, [=](std::int64_t i) {
        return RmsNormBwd{a.at(a.d_y, i), a.at(a.x, i),   weight,
                          a.at(rstd, i),  a.at(a.d_x, i), d_weight};
    });
}

void ProfileSampler::rotations(const Activations& a) {
    constexpr std::int64_t D = kTokenHeadDim;
    const TensorView heads = a.x.reshaped({a.rows, a.C / D, D});
    const TensorView cos = accum({a.T, D / 2}), sin = accum({a.T, D / 2});
    inv_freq_.assign(D / 2, 0.5);
    const std::vector<Run>* runs =
        runs_.emplace_back(std::make_unique<std::vector<Run>>(1, Run{0, 0, a.T})).get();
    add(a.shape, [=, this](std::int64_t) { return RopeTable{*runs, inv_freq_, 1, cos, sin}; });
    add(a.shape, [=](std::int64_t i) { return RopeApply{a.at(heads, i), cos, sin}; });
}

void ProfileSampler::gates(const Activations& a) {
    add(a.shape, [=](std::int64_t i) {
        return SwigluFwd{a.at(a.x, i), a.at(a.y, i), a.at(a.z, i)};
    });
    add(a.shape, [=](std::int64_t i) {
        return SwigluBwd{a.at(a.z, i), a.at(a.x, i), a.at(a.y, i), a.at(a.d_x, i), a.at(a.d_y, i)};
    });
}

void ProfileSampler::embeddings(const Activations& a) {
    constexpr std::int64_t V = 8192;
    const TensorView token = indices(a.rows, V), d_table = accum({V, a.C});
    const TensorView table = tensor(kernels_.types().master, {V, a.C});
    add(a.shape, [=](std::int64_t i) { return EmbeddingFwd{a.at(token, i), table, a.at(a.x, i)}; });
    add(a.shape, [=](std::int64_t i) {
        return EmbeddingBwd{a.at(token, i), a.at(a.d_x, i), d_table};
    });
}

void ProfileSampler::moves(const Activations& a) {
    const std::int64_t D = kTokenHeadDim, H = a.C / D;
    const TensorView wide = accum({a.rows, a.C}), parts = compute(2 * a.T, a.C);
    const TensorView heads = a.x.reshaped({a.rows, H, D}), copies = a.y.reshaped({a.rows, H, D});
    add(a.shape, [=](std::int64_t i) { return FillZero{a.at(wide, i)}; });
    add(a.shape, [=](std::int64_t i) { return Copy{a.at(a.x, i), a.at(a.y, i)}; });
    add(a.shape, [=](std::int64_t i) { return Add{a.at(a.x, i), a.at(a.y, i)}; });
    add(a.shape, [=](std::int64_t i) {
        return CopyHeads{a.at(heads, i), a.at(copies, i), 0, 0, H};
    });
    add(a.shape, [=](std::int64_t i) {
        return SumParts{parts.reshaped({2, a.T, a.C}), a.at(a.y, i)};
    });
    const std::int64_t W = packed_words(a.C);
    const TensorView packed = indices(a.rows * W, 1 << 20).reshaped({a.rows, W});
    add(a.shape, [=](std::int64_t i) { return PackRows{a.at(a.x, i), a.at(packed, i)}; });
    add(a.shape, [=](std::int64_t i) { return UnpackRows{a.at(packed, i), a.at(a.y, i)}; });
}

void ProfileSampler::tokens(std::int64_t T, std::int64_t C) {
    const std::int64_t rows = T * num_tiles(T * C);
    const auto make = [&] { return compute(rows, C); };
    const Activations shared{T,      C,      rows,  format("T {} C {}", T, C), make(), make(),
                             make(), make(), make()};
    norms(shared);
    rotations(shared);
    gates(shared);
    embeddings(shared);
    moves(shared);
}

void ProfileSampler::attention(const AttentionShape& a) {
    const auto [T, S, Hq, Hk, D] = a;
    const std::string shape = format("T {} S {} Hq {} Hk {} D {}", T, S, Hq, Hk, D);
    const DType type = kernels_.types().compute;
    const TensorView q = tensor(type, {T, Hq, D}), d_out = tensor(type, {T, Hq, D});
    const TensorView k = tensor(type, {S, Hk, D}), v = tensor(type, {S, Hk, D});
    const AttentionState state{accum({T, Hq, D}), accum({T, Hq}), accum({T, Hq})};
    const TensorView lse = accum({T, Hq}), delta = accum({T, Hq}), d_q = accum({T, Hq, D});
    const TensorView d_k = accum({S, Hk, D}), d_v = accum({S, Hk, D});
    const auto run = [this](std::int64_t first, std::int64_t count) {
        const Run one{0, first, count};
        return runs_.emplace_back(std::make_unique<std::vector<Run>>(1, one)).get();
    };
    const auto *q_runs = run(S - T, T), *kv_runs = run(0, S);
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    add(shape,
        [=](std::int64_t) { return AttentionFwd{state, q, k, v, *q_runs, *kv_runs, scale}; });
    const AttentionBwd backward{q,       k,        v,     d_out, lse, delta,
                                *q_runs, *kv_runs, scale, d_q,   d_k, d_v};
    add(shape, [=](std::int64_t) { return backward; });
    if (!kernels_.computes_fp8()) return;
    add(shape,
        [=](std::int64_t) { return AttentionFwd8{state, q, k, v, *q_runs, *kv_runs, scale}; });
    add(shape, [=](std::int64_t) {
        return AttentionBwd8{q, k, v, d_out, lse, delta, *q_runs, *kv_runs, scale, d_q, d_k, d_v};
    });
}

void ProfileSampler::attention_rows(std::int64_t T, std::int64_t Hq, std::int64_t D) {
    const std::string shape = format("T {} Hq {} D {}", T, Hq, D);
    const std::int64_t rows = T * num_tiles(T * Hq * D);
    const DType type = kernels_.types().compute;
    const TensorView out = tensor(type, {rows, Hq, D}), d_out = tensor(type, {rows, Hq, D});
    const TensorView lse = accum({rows, Hq}), acc = accum({rows, Hq, D});
    const TensorView m = accum({rows, Hq}), l = accum({rows, Hq});
    const auto at = [T](const TensorView& of, std::int64_t i) { return tile(of, T, i); };
    const auto state = [=](std::int64_t i) {
        return AttentionState{at(acc, i), at(m, i), at(l, i)};
    };
    add(shape, [=](std::int64_t i) { return AttentionBegin{state(i)}; });
    add(shape, [=](std::int64_t i) { return AttentionFinish{state(i), at(out, i), at(lse, i)}; });
    add(shape, [=](std::int64_t i) {
        return AttentionDelta{at(d_out, i), at(out, i), at(lse, i)};
    });
}

void ProfileSampler::head(std::int64_t T, std::int64_t C, std::int64_t V) {
    const std::string shape = format("T {} C {} V {}", T, C, V);
    const TensorView x = compute(T, C), d_x = compute(T, C), d_head = accum({V, C});
    const TensorView targets = indices(T, V), loss = tensor(DType::f64, {1});
    const TensorView statistics = tensor(DType::f64, {1, T, 3}), lse = tensor(DType::f64, {T});
    const TensorView losses = tensor(DType::f64, {T});
    const PreparedWeight* w = &weight(V, C);
    const double scale = 1 / static_cast<double>(T);
    add(shape, [=](std::int64_t) {
        return LinearCrossEntropy{x, w, targets, scale, losses, loss, d_x, d_head};
    });
    add(shape, [=](std::int64_t) {
        return HeadStatistics{x, w, targets, {}, statistics.reshaped({T, 3})};
    });
    add(shape, [=](std::int64_t) {
        return CombineHeadStatistics{statistics, targets, lse, losses, loss};
    });
    add(shape, [=](std::int64_t) { return HeadBwd{x, w, targets, {}, lse, scale, d_x, d_head}; });
}

void ProfileSampler::update(std::int64_t size) {
    const std::string shape = format("{} weights", size);
    const TensorView weight = tensor(kernels_.types().master, {size}), grad = accum({size});
    const TensorView m = accum({size}), v = accum({size});
    const TensorView sum = tensor(DType::f64, {1}), clip = tensor(DType::f64, {3});
    add(shape, [=](std::int64_t) {
        return AdamW{
            .weight = weight, .grad = grad, .m = m, .v = v, .clip = clip, .learning_rate = 1e-6};
    });
    add(shape, [=](std::int64_t) { return SumSquares{grad, sum}; });
    add(shape, [=](std::int64_t) { return ClipFactor{sum, 0, clip}; });
    if (!kernels_.computes_fp8()) return;
    const TensorView maxima = tensor(DType::f32, {32, 224}), scales = tensor(DType::f32, {224});
    add(shape, [=](std::int64_t) { return Fp8Scales{maxima, scales}; });
}

void ProfileSampler::transfers(std::int64_t size) {
    const std::string shape = format("{} bytes", size);
    const TensorView there = tensor(DType::f32, {size / 4});
    std::byte* host = pinned_.emplace_back(kernels_.device(), Bytes{size}).data();
    const OpWork work = work_of_bytes(static_cast<double>(size));
    add("upload", shape, work,
        [=, this](std::int64_t) { kernels_.device().upload(host, there, *stream_); });
    add("download", shape, work,
        [=, this](std::int64_t) { kernels_.device().download(there, host, *stream_); });
}

double ProfileSampler::seconds_of(const ProfileSample& sample, std::int64_t calls) {
    const double start = now_();
    for (std::int64_t i = 0; i < calls; ++i)
        sample.queue(i);
    stream_->synchronize();
    return (now_() - start) / static_cast<double>(calls);
}

void ProfileSampler::add_if_room(const std::function<void()>& add) {
    const bool is_first = samples_.empty();
    const std::array before = {tensors_.size(), buffers_.size(), weights_.size(),
                               runs_.size(),    samples_.size(), pinned_.size()};
    try {
        add();
        const DeviceFacts facts = kernels_.device().facts();
        if (is_first || facts.free.value >= facts.memory.value / 8) return;
    } catch (const OutOfMemory&) {
        if (is_first) throw;
    }
    samples_.erase(samples_.begin() + std::ptrdiff_t(before[4]), samples_.end());
    pinned_.resize(before[5]);
    runs_.resize(before[3]);
    weights_.resize(before[2]);
    buffers_.resize(before[1]);
    tensors_.resize(before[0]);
}

// A run of a millisecond is rarely interrupted on a busy machine, and waking a thread is no part of
// ops that follow each other. The first call warms caches and threads up.
void ProfileSampler::run(ProfileSample& sample) {
    constexpr double kTurnSeconds = 0.001;
    const double before = sample.times.empty() ? seconds_of(sample, 1) : sample.times.front();
    const double calls = std::clamp(kTurnSeconds / before, 1.0, 256.0);
    sample.times.push_back(seconds_of(sample, static_cast<std::int64_t>(calls)));
}

void ProfileSampler::run_round(const std::function<bool()>& is_late) {
    for (ProfileSample& sample : samples_) {
        if (sample.times.empty() || !is_late()) run(sample);
    }
}

}  // namespace rm
