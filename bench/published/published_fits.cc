#include "bench/published/published_fits.h"

#include <algorithm>

#include "bench/published/published_runs.h"
#include "kernels/meta/meta_kernels.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;
constexpr std::int64_t kTile = 8192, kChunk = 32'768;
constexpr std::int64_t kTB = 1'000'000'000'000;
// The driver shows 79.6 GiB of an H100 of 80 GB and 79.3 of an A100; the rest is a reserve.
constexpr Bytes kEighty{78 * kGi};
constexpr Bytes kForty{39 * kGi};  // the same share of an A100 of 40 GB

constexpr std::string_view kAssumed = "assumed";
constexpr FitMachine kAlstNode{"H100", kEighty, {1'900'000'000'000}, 8, "published"};
constexpr FitMachine kFpdtNode{"A100", kEighty, {kTB}, 8, kAssumed};
constexpr FitMachine kFpdtSmall{"A100", kForty, {kTB}, 4, kAssumed};
constexpr FitMachine kMemoNode{"A100", kEighty, {2 * kTB}, 8, "published"};
constexpr FitMachine kTrlNode{"H100", kEighty, {2 * kTB}, 8, kAssumed};

constexpr std::string_view kAlstPaper = "arXiv:2506.13996, tables 2 to 4";
constexpr std::string_view kAlstAblations = "arXiv:2506.13996, table 1";
constexpr std::string_view kRecipe = "ALST's recipe of that name";
constexpr std::string_view kDevice = "device", kHost = "host";

constexpr std::string_view kLogits =
    "theirs holds the logits of all tokens, ours never more than those of a tile";
constexpr std::string_view kUntiled =
    "theirs computes a whole layer of a rank at a time, ours a tile";
constexpr std::string_view kMegatron =
    "theirs keeps inputs of all tokens on each tensor rank, ours an eighth";

ModelConfig llama(std::string_view name) {
    return find_preset(name).value();
}

// MEMO's GPT has two matrices of 4 C in a feed-forward layer, ours three of 2.69 C: as many
// parameters to 1 %.
ModelConfig gpt_7b() {
    return {.vocabulary = 50'257,
            .hidden = 4096,
            .num_layers = 32,
            .num_query_heads = 32,
            .num_kv_heads = 32,
            .head_dim = 128,
            .feed_forward = 11'008,
            .norm_eps = 1e-5};
}

Mesh mesh_of(int data, int ring, int heads, int tensor) {
    return Mesh::make(data, ring, heads, tensor).value();
}

// Layers are computed in tiles, which takes less than a whole layer at a time.
MemoryPolicy policy(Keep keep, double alpha, KeptPlace kept) {
    MemoryPolicy memory;
    memory.tile_tokens = kTile;
    memory.chunk_tokens = kChunk;
    memory.keep = keep;
    memory.alpha = alpha;
    memory.kept = kept;
    return memory;
}

// Inputs of layers alone are kept.
MemoryPolicy checkpointed(KeptPlace kept) {
    return policy(Keep::input, 0, kept);
}

// DeepSpeed's ZeRO 3 with the optimizer on the host, checkpointing and a fused loss. Its ranks
// split heads alone; ours have a ring beyond 8, the number of heads of keys.
struct AlstModel {
    std::string_view name;
    ModelConfig config;
    std::string_view shortage;  // beyond its longest context
};
PublishedFit alst(const AlstModel& model, int devices, std::int64_t context,
                  std::string_view source) {
    const int heads = std::min(devices, 8);
    return {.by = "ALST",
            .model = model.name,
            .strategy = "all of ALST",
            .context = context,
            .fits = true,
            .source = source,
            .machine = kAlstNode,
            .config = model.config,
            .mesh = mesh_of(1, devices / heads, heads, 1),
            .memory = checkpointed(KeptPlace::host),
            .host_state = true};
}

// The longest context of a strategy, and twice as long.
void add_pair(std::vector<PublishedFit>& fits, const PublishedFit& longest,
              std::string_view shortage, std::string_view unjudged = {}) {
    fits.push_back(longest);
    PublishedFit beyond = longest;
    beyond.context *= 2;
    beyond.fits = false;
    beyond.source = "twice the published longest";
    beyond.shortage = shortage;
    if (!unjudged.empty()) beyond.unjudged = unjudged;
    fits.push_back(beyond);
}

void add_alst(std::vector<PublishedFit>& fits) {
    const AlstModel small{"Llama-3-8B", llama("llama3-8b"), kDevice};
    const AlstModel large{"Llama-3-70B", llama("llama3-70b"), kHost};
    const AlstModel qwen{"Qwen3-32B", qwen3(5120, 64, 64, 25'600, false), {}};
    const auto pair = [&](const AlstModel& model, int devices, std::int64_t longest,
                          std::string_view source, std::string_view unjudged = {}) {
        add_pair(fits, alst(model, devices, longest, source), model.shortage, unjudged);
    };
    pair(small, 1, 500'000, kAlstPaper, "there a kernel failed above 500K, by its recipe");
    pair(small, 8, 3'700'000, kAlstPaper);
    pair(small, 16, 8'000'000, kRecipe);
    pair(small, 32, 15'000'000, kAlstPaper);
    pair(large, 16, 1'200'000, kRecipe);
    pair(large, 32, 4'000'000, kRecipe);
    pair(large, 64, 10'000'000, kRecipe);
    PublishedFit single = alst(qwen, 1, 230'000, kRecipe);
    single.unjudged = "theirs has weights on the host, ours on the device and layers in windows";
    single.memory.working = WorkingSet::windows;
    single.memory.chunk_tokens = kTile;
    fits.push_back(single);
    pair(qwen, 8, 1'550'000, kRecipe);
    pair(qwen, 16, 4'000'000, kRecipe);
    pair(qwen, 32, 7'000'000, kRecipe);
    pair(qwen, 64, 15'000'000, kRecipe);
}

// On one node, without some parts of ALST; the device is short, as its activations stay there.
void add_ablations(std::vector<PublishedFit>& fits) {
    const AlstModel small{"Llama-3-8B", llama("llama3-8b"), kDevice};
    const Mesh data = mesh_of(8, 1, 1, 1), heads = mesh_of(1, 1, 8, 1);
    const auto pair = [&](std::string_view strategy, std::int64_t longest, const Mesh& mesh,
                          KeptPlace kept, std::string_view unjudged = {}) {
        PublishedFit fit = alst(small, 8, longest, kAlstAblations);
        fit.strategy = strategy;
        fit.mesh = mesh;
        fit.memory = checkpointed(kept);
        add_pair(fits, fit, kDevice, unjudged);
    };
    pair("data, checkpoints", 32'000, data, KeptPlace::device, kLogits);
    pair("the same, fused loss", 160'000, data, KeptPlace::device);
    pair("Ulysses, fused loss", 1'100'000, heads, KeptPlace::device);
    pair("the same, tiled layers", 1'200'000, heads, KeptPlace::device);
    pair("Ulysses, offloaded", 2'400'000, heads, KeptPlace::host, kUntiled);
}

PublishedFit fpdt(std::string_view strategy, std::int64_t context, const Mesh& mesh,
                  const MemoryPolicy& memory) {
    return {.by = "FPDT",
            .model = "Llama-3-8B",
            .strategy = strategy,
            .context = context,
            .fits = true,
            .source = "arXiv:2408.16978, its table of strategies, not read again",
            .machine = kFpdtNode,
            .config = llama("llama3-8b"),
            .mesh = mesh,
            .memory = memory};
}

// The strategies that FPDT compares itself with: TP is Megatron's, AC checkpoints layers, OC
// offloads them.
void add_compared(std::vector<PublishedFit>& fits) {
    const Mesh tensor = mesh_of(1, 1, 1, 8), heads = mesh_of(1, 1, 8, 1);
    const auto megatron = [&](std::string_view strategy, std::int64_t longest,
                              const MemoryPolicy& memory) {
        PublishedFit fit = fpdt(strategy, longest, tensor, memory);
        fit.zero = 0;
        fit.unjudged = kMegatron;
        add_pair(fits, fit, kDevice);
    };
    const MemoryPolicy all = policy(Keep::input_and_attention, 1, KeptPlace::device);
    megatron("TP", 32 * kKi, all);
    megatron("TP, AC", 128 * kKi, checkpointed(KeptPlace::device));
    megatron("TP, AC, OC", 512 * kKi, checkpointed(KeptPlace::host));
    add_pair(fits, fpdt("Ulysses, ZeRO 3", 64 * kKi, heads, all), kDevice, kLogits);
    add_pair(fits, fpdt("Ulysses, AC, OC", 512 * kKi, heads, checkpointed(KeptPlace::host)),
             kDevice, kLogits);
}

void add_fpdt(std::vector<PublishedFit>& fits) {
    MemoryPolicy windows = checkpointed(KeptPlace::host);
    windows.chunk_tokens = kTile;
    windows.working = WorkingSet::windows;
    windows.keep_every = 2;
    add_pair(fits, fpdt("FPDT", 4 * kMi, mesh_of(1, 1, 8, 1), windows), {},
             "the host decides, and its memory is assumed");
    PublishedFit four = fpdt("FPDT", 2 * kMi, mesh_of(1, 1, 4, 1), windows);
    fits.push_back(four);
    four.machine = kFpdtSmall;
    four.host_state = true;
    four.source = "its authors' announcement";
    fits.push_back(four);
    PublishedFit large = fpdt("FPDT", 4 * kMi, mesh_of(1, 4, 8, 1), windows);
    large.model = "Llama-3-70B";
    large.config = llama("llama3-70b");
    fits.push_back(large);
}

void add_memo(std::vector<PublishedFit>& fits) {
    const auto add = [&](std::string_view strategy, std::string_view shortage,
                         const MemoryPolicy& memory, std::string_view source) {
        fits.push_back({.by = "MEMO",
                        .model = "GPT-7B",
                        .strategy = strategy,
                        .context = kMi,
                        .fits = shortage.empty(),
                        .source = source,
                        .shortage = shortage,
                        .machine = kMemoNode,
                        .config = gpt_7b(),
                        .mesh = mesh_of(1, 1, 8, 1),
                        .memory = memory});
    };
    const Keep both = Keep::input_and_attention;
    add("inputs, attention on host", {}, policy(both, 0, KeptPlace::host),
        "arXiv:2407.12117, abstract");
    add("everything on host", kHost, policy(both, 1, KeptPlace::host),
        "arXiv:2407.12117, section 4.1");
    add("everything on device", kDevice, policy(both, 1, KeptPlace::device),
        "arXiv:2407.12117, section 3.2");
}

// FSDP2 in bf16 throughout: of our state, moments and gradients can be.
void add_trl(std::vector<PublishedFit>& fits) {
    const auto add = [&](std::string_view model, const ModelConfig& config, std::int64_t context,
                         int devices, double peak_gb, std::string_view source) {
        fits.push_back({.by = "TRL",
                        .model = model,
                        .strategy = "FSDP2, ring, offloaded",
                        .context = context,
                        .fits = true,
                        .source = source,
                        .peak_gb = peak_gb,
                        .machine = kTrlNode,
                        .config = config,
                        .mesh = mesh_of(1, devices, 1, 1),
                        .memory = checkpointed(KeptPlace::host),
                        .types = {.moments = DType::bf16, .gradients = DType::bf16}});
    };
    const std::string_view guide = "TRL's guide to long contexts";
    const std::string_view notes = "TRL's runs; no page is named";
    const ModelConfig small = qwen3(1024, 28, 16, 3072, true);
    add("Qwen3-0.6B", small, kMi, 8, 27.9, notes);
    add("Qwen3-4B", qwen3(2560, 36, 32, 9728, true), kMi, 4, 63.6, guide);
    add("Qwen3-8B", qwen3(4096, 36, 32, 12'288, false), kMi, 8, 56.2, guide);
    add("Qwen3-32B", qwen3(5120, 64, 64, 25'600, false), kMi, 8, 60.8, notes);
    add("Qwen3-0.6B", small, 4 * kMi, 8, 73.7, notes);
}

}  // namespace

Bytes PublishedFit::host_available() const {
    return {machine.node.value / std::min(mesh.num_ranks(), machine.node_devices)};
}

std::vector<PublishedFit> published_fits() {
    std::vector<PublishedFit> fits;
    add_alst(fits);
    add_ablations(fits);
    add_compared(fits);
    add_fpdt(fits);
    add_memo(fits);
    add_trl(fits);
    return fits;
}

Result<FitNeed> need_of(const PublishedFit& fit) {
    const NumericTypes types{DType::bf16, DType::f32, DType::f32};
    ScheduleRecorder unread;
    const auto host = make_meta_kernels(unread, {.types = types});
    const std::vector<DeviceProfile> profiles = published_profiles();
    const auto profile = std::ranges::find(profiles, fit.machine.profile, &DeviceProfile::name);
    RM_CHECK(profile != profiles.end(), "no profile {}", fit.machine.profile);
    const RankSpec spec{.model = fit.config,
                        .mesh = fit.mesh,
                        .rank = fit.mesh.num_ranks() - 1,
                        .zero = fit.zero,
                        .types = fit.types,
                        .host = fit.host_state ? host.get() : nullptr};
    const StageShape shape{.context = fit.context, .memory = fit.memory, .rope = fit.config.rope};
    RM_TRY(const Prediction prediction, predict(spec, shape,
                                                {.types = types,
                                                 .profile = &*profile,
                                                 .links = uniform_links({Seconds{10e-6}, 50e9}),
                                                 .asked = DryRunOptions::Asked::memory}));
    return FitNeed{prediction.device_total(), prediction.host_total()};
}

Verdict verdict_of(const PublishedFit& fit, const FitNeed& need) {
    const bool device = need.device > fit.machine.device;
    const bool host = need.host > fit.host_available();
    if (!fit.unjudged.empty()) return Verdict::not_judged;
    if (fit.fits == (device || host)) return Verdict::differs;
    const bool same = (device && fit.shortage == kDevice) || (host && fit.shortage == kHost);
    return fit.shortage.empty() || same ? Verdict::agrees : Verdict::other_reason;
}

bool is_within(const PublishedFit& fit, const FitNeed& need) {
    return need.device <= fit.machine.device && need.host <= fit.host_available();
}

}  // namespace rm::bench
