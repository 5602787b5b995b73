#include "bench/published/pipelined_runs.h"

#include "base/check.h"
#include "spec/model_preset.h"

namespace rm::bench {
namespace {

constexpr int kTensor = 8;
constexpr int kStages = 16;
// 126 layers, embedding and head are one chunk each, so a rank has 8 of these 128: the first and
// the last chunk are said to have no layer.
constexpr int kChunks = 8;
constexpr double kBf16 = 2;
// Bytes a second of a device, one way: NVLink 4, and the network's 400 Gbit/s.
constexpr double kInside = 450e9, kNetwork = 50e9;
// Sequence parallelism gathers and sums the activations twice each, forward and backward
// (arXiv:2205.05198); keys and values are gathered forward and backward, and their gradients
// summed.
constexpr double kTensorTransfers = 8, kContextTransfers = 3;
constexpr double kPasses = 3;  // forward, and twice as much backward

const ModelConfig& llama3_405b() {
    static const ModelConfig config{.vocabulary = 128'256,
                                    .hidden = 16'384,
                                    .num_layers = 126,
                                    .num_query_heads = 128,
                                    .num_kv_heads = 8,
                                    .head_dim = 128,
                                    .feed_forward = 53'248};
    return config;
}

double real(std::int64_t value) {
    return static_cast<double>(value);
}

// One product of T x K by K x N, with both of its gradients.
double product_seconds(const DeviceProfile& profile, double t, double k, double n) {
    const double flops = 2 * t * k * n;
    double sum = 0;
    for (const char* op : {"linear_fwd", "linear_bwd_input", "linear_bwd_weight"})
        sum += seconds_of(profile, op, {.amount = flops, .size = flops}).value;
    return sum;
}

double products(const DeviceProfile& profile, double t) {
    const ModelConfig& m = llama3_405b();
    const double c = real(m.hidden), f = real(m.feed_forward) / kTensor;
    const double queries = real(m.num_query_heads * m.head_dim) / kTensor;
    const double keys = real(m.num_kv_heads * m.head_dim) / kTensor;
    return product_seconds(profile, t, c, queries + 2 * keys) +
           product_seconds(profile, t, queries, c) + product_seconds(profile, t, c, 2 * f) +
           product_seconds(profile, t, f, c);
}

double attention(const DeviceProfile& profile, const PipelinedRun& run) {
    const ModelConfig& m = llama3_405b();
    const double s = real(run.context), keys = s / 2;  // that a query sees on average
    const double elements = real(m.num_query_heads * m.head_dim) / kTensor;
    const double pairs = s * keys / run.context_ranks;
    const auto seconds = [&](const char* op, double flops_per_pair) {
        const OpWork work{flops_per_pair * pairs * elements, keys, m.head_dim};
        return seconds_of(profile, op, work).value;
    };
    return seconds("attention_fwd", 4) + seconds("attention_bwd", 10);
}

// Two norms and two sums of T x C, which tensor ranks split, rotations, and the gate.
double elementwise(const DeviceProfile& profile, double t) {
    const ModelConfig& m = llama3_405b();
    const double heads = real((m.num_query_heads + m.num_kv_heads) * m.head_dim);
    const double numbers =
        t * (10 * real(m.hidden) + 2 * heads + 3 * real(m.feed_forward)) / kTensor;
    return kPasses * seconds_of(profile, "add", work_of_bytes(kBf16 * numbers)).value;
}

// One rank's wait while `ranks` ranks gather these bytes, or sum them.
double transfer(double bytes, int ranks, double bytes_per_sec) {
    return bytes * (ranks - 1) / ranks / bytes_per_sec;
}

LayerSeconds layer_seconds(const PipelinedRun& run, const DeviceProfile& profile) {
    const ModelConfig& m = llama3_405b();
    const double t = real(run.context) / run.context_ranks;
    const double activations = kBf16 * t * real(m.hidden);
    const double keys_and_values =
        2 * kBf16 * real(run.context * m.num_kv_heads * m.head_dim) / kTensor;
    return {.products = products(profile, t),
            .attention = attention(profile, run),
            .elementwise = elementwise(profile, t),
            .tensor = kTensorTransfers * transfer(activations, kTensor, kInside),
            .context = kContextTransfers * transfer(keys_and_values, run.context_ranks, kNetwork)};
}

}  // namespace

std::vector<PipelinedRun> llama3_runs() {
    return {{8192, 1, 64, 8192, 32, 430e12},
            {16'384, 1, 128, 8192, 16, 400e12},
            {16'384, 16, 8, 131'072, 16, 380e12}};
}

PipelinedStep pipelined_step(const PipelinedRun& run, const DeviceProfile& profile) {
    RM_CHECK(kTensor * run.context_ranks * kStages * run.data == run.devices,
             "{} devices are not {} x {} x {} x {}", run.devices, kTensor, run.context_ranks,
             kStages, run.data);
    PipelinedStep step{.layer = layer_seconds(run, profile)};
    step.bubble = double{kStages - 1} / (kChunks * run.batch);
    step.seconds = run.batch * kChunks * step.layer.all() * (1 + step.bubble);
    const double sequences = double{1} * run.batch * run.data;
    const double tokens = sequences * real(run.context);
    const double flops = training_flops(llama3_405b(), tokens, tokens * real(run.context) / 2);
    step.flops_per_sec = flops / step.seconds / run.devices;
    return step;
}

}  // namespace rm::bench
