#include "bench/published/published_runs.h"

#include "engine/dry_run/choose_memory.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

std::vector<SpeedPoint> points_of(const std::array<double, 6>& speeds) {
    std::vector<SpeedPoint> points;
    double keys = 512;
    for (const double tera : speeds) {
        points.push_back({keys, tera * 1e12});
        keys *= 2;
    }
    return points;
}

}  // namespace

ModelConfig qwen3(std::int64_t hidden, std::int64_t layers, std::int64_t query_heads,
                  std::int64_t feed_forward, bool tied) {
    return {.vocabulary = 151'936,
            .hidden = hidden,
            .num_layers = layers,
            .num_query_heads = query_heads,
            .num_kv_heads = 8,
            .head_dim = 128,
            .feed_forward = feed_forward,
            .norm_eps = 1e-6,
            .tied_head = tied};
}

const std::array<AttentionKernels, 3> kAttentionKernels = {{
    {"cuDNN",
     {{{64, {335, 373, 395, 408, 412, 413}, {266, 348, 395, 417, 432, 433}},
       {128, {497, 574, 617, 609, 600, 595}, {305, 408, 465, 499, 518, 516}}}}},
    {"FlashAttention-3",
     {{{64, {333, 392, 460, 476, 496, 497}, {272, 363, 422, 453, 472, 474}},
       {128, {467, 565, 625, 638, 646, 648}, {316, 424, 501, 542, 559, 561}}}}},
    {"FlashAttention-2",
     {{{64, {282, 306, 318, 321, 322, 324}, {198, 238, 264, 279, 287, 291}},
       {128, {309, 350, 362, 368, 370, 370}, {214, 260, 291, 310, 318, 322}}}}},
}};

std::vector<PublishedRun> published_runs() {
    const ModelConfig small = qwen3(1024, 28, 16, 3072, true);
    const ModelConfig middle = qwen3(4096, 36, 32, 12'288, false);
    const ModelConfig large = qwen3(5120, 64, 64, 25'600, false);
    const auto run = [](const char* name, const ModelConfig& model, std::int64_t tokens,
                        int devices, double seconds) {
        return PublishedRun{.name = name,
                            .how = "FSDP2, context parallel, inputs offloaded, chunked loss",
                            .model = model,
                            .context = tokens,
                            .devices = devices,
                            .profile = "H100",
                            .link_gbit = devices == 8 ? 3600.0 : 400.0,
                            .seconds = seconds};
    };
    return {run("Qwen3-0.6B", small, kMi, 8, 137),     run("Qwen3-8B", middle, kMi, 8, 364),
            run("Qwen3-32B", large, kMi, 8, 1295),     run("Qwen3-0.6B", small, 4 * kMi, 8, 2135),
            run("Qwen3-8B", middle, 2 * kMi, 16, 696), run("Qwen3-8B", middle, 4 * kMi, 32, 1346)};
}

DeviceProfile with_attention(DeviceProfile profile, const AttentionKernels& kernels) {
    for (OpSpeed& op : profile.ops) {
        for (const AttentionKernels::Speeds& speeds : kernels.speeds) {
            if (speeds.head_dim != op.head_dim) continue;
            if (op.op == "attention_fwd") op.points = points_of(speeds.forward);
            if (op.op == "attention_bwd") op.points = points_of(speeds.backward);
        }
    }
    profile.provenance += format("; attention: {} as published in arXiv:2407.08608", kernels.name);
    return profile;
}

Result<Prediction> foretell(const PublishedRun& run, const DeviceProfile& profile) {
    const int last = run.devices - 1;
    const RankSpec spec{.model = run.model,
                        .mesh = Mesh::make(1, run.devices, 1, 1).value(),
                        .rank = last,
                        .zero = 3};
    StageShape shape{.context = run.context, .rope = run.model.rope};
    shape.memory = {.tile_tokens = 8192, .chunk_tokens = 8192};
    shape.memory.keep = Keep::input;
    shape.memory.alpha = 0;
    shape.memory.kept = KeptPlace::host;
    return predict(
        spec, shape,
        {.profile = &profile, .links = uniform_links({Seconds{10e-6}, run.link_gbit * 1e9 / 8})});
}

std::vector<PublishedThroughput> gradient_stages() {
    const auto mesh = [](int data, int ring, int heads) {
        return Mesh::make(data, ring, heads, 1).value();
    };
    constexpr double kTokens = 838.9e6, kSeconds = 87 * 60;
    return {{65'536, 8, 648.9, mesh(1, 8, 1)},
            {262'144, 32, 94.5, mesh(1, 32, 1)},
            {524'288, 512, 223.8, mesh(16, 32, 1)},
            {1'048'576, 512, kTokens / kSeconds / 512, mesh(8, 64, 1)},
            {4'194'304, 512, 15.1, mesh(1, 64, 8)}};
}

Result<Prediction> foretell(const PublishedThroughput& stage, const DeviceProfile& profile) {
    const RankSpec spec{.model = find_preset("llama3-8b").value(),
                        .mesh = stage.mesh,
                        .rank = stage.devices - 1,
                        .zero = 3};
    const StageShape shape{.context = stage.context, .rope = spec.model.rope};
    const MemorySpec memory{.tile = 8192,
                            .device = Bytes{static_cast<std::int64_t>(44.5 * (1 << 30))},
                            .host = Bytes{144'000'000'000}};
    constexpr double kBytesPerSec = 175e9 / 8;
    RM_TRY(const ChosenMemory chosen,
           choose_memory(
               spec, shape, memory,
               {.profile = &profile, .links = uniform_links({Seconds{10e-6}, kBytesPerSec})}));
    return chosen.prediction;
}

}  // namespace rm::bench
