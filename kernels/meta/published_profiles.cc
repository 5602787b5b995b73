#include <algorithm>
#include <span>

#include "kernels/meta/device_profile.h"

// Profiles of GPUs that were not at hand: NVIDIA's figures, times efficiencies that are assumed.
namespace rm {
namespace {

// Shares of the peak that are reached, assumed of each architecture.
struct Reached {
    double products = 0;       // large ones
    double attention_fwd = 0;  // at head dim 128 and long rows
    double attention_bwd = 0;
    // Products of FP8 with scales of blocks, of the peak in bf16: our own kernel, whose speed is
    // unmeasured. Ada multiplies FP8 at twice the rate of bf16, but sums leave the tensor cores
    // after every 128 products: assumed to be as fast as bf16. Hopper has no such instruction for a
    // warp, ptxas makes two of fp16, conversions and sums: assumed to be half as fast.
    double block_products = 0;
};
constexpr Reached kAda{0.70, 0.50, 0.42, 0.70}, kAmpere{0.80, 0.60, 0.50},
    kHopper{0.68, 0.35, 0.31, 0.34};

// NVIDIA's data sheets for the part (dense, without sparsity; SXM parts except the L40S).
struct Published {
    std::string_view name;
    std::string_view source;
    double peak_flops = 0;  // bf16, dense
    double fp8_flops = 0;   // likewise; 0: it has none
    double capacity = 0;    // bytes
    double memory = 0;      // bytes a second
    double link = 0;        // host to device, bytes a second, one direction
    Reached reached;
};

constexpr double kTera = 1e12, kGiga = 1e9;
constexpr double kPcie4 = 32 * kGiga, kPcie5 = 64 * kGiga;
constexpr Published kParts[] = {
    {"L40S", "NVIDIA L40S data sheet: 362 TFLOP/s bf16, 733 FP8, 48 GB, 864 GB/s, PCIe 4.0 x16",
     362 * kTera, 733 * kTera, 48 * kGiga, 864 * kGiga, kPcie4, kAda},
    {"A100", "NVIDIA A100 80GB SXM data sheet: 312 TFLOP/s bf16, 80 GB, 2,039 GB/s, PCIe 4.0 x16",
     312 * kTera, 0, 80 * kGiga, 2039 * kGiga, kPcie4, kAmpere},
    {"H100",
     "NVIDIA H100 SXM data sheet: 989 TFLOP/s bf16, 1,979 FP8, 80 GB, 3.35 TB/s, PCIe 5.0 x16",
     989 * kTera, 1979 * kTera, 80 * kGiga, 3350 * kGiga, kPcie5, kHopper},
    {"H200",
     "NVIDIA H200 SXM data sheet: 989 TFLOP/s bf16, 1,979 FP8, 141 GB, 4.8 TB/s, PCIe 5.0 x16",
     989 * kTera, 1979 * kTera, 141 * kGiga, 4800 * kGiga, kPcie5, kHopper},
};

// Assumed of all of them.
constexpr Seconds kLaunch{5e-6};        // from one kernel's end to the next one's start
constexpr Seconds kTransfer{10e-6};     // latency of a copy over the link
constexpr double kMemoryShare = 0.80;   // of the bandwidth that elementwise kernels reach
constexpr double kLinkShare = 0.80;     // of the link, from pinned memory
constexpr double kScatterShare = 0.40;  // of the bandwidth where rows are gathered or atomics add
constexpr double kHalfSpeed = 2e10;     // FLOPs of a product that reaches half of its best speed
constexpr Bytes kHeld{std::int64_t{700} << 20};                // context, kernels' code, cuBLASLt
constexpr Bytes kMatmulSpace{(std::int64_t{32} << 20) + 256};  // what products by cuBLASLt ask
constexpr Bytes kHeadSpace{std::int64_t{1088} << 20};          // and at most 2^28 logits in f32

bool one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// Small products do not fill the machine.
std::vector<SpeedPoint> product_points(double best) {
    std::vector<SpeedPoint> points;
    for (const double flops : {1e8, 1e9, 1e10, 1e11, 1e12, 1e13})
        points.push_back({flops, best * flops / (flops + kHalfSpeed)});
    return points;
}

// A query that sees few keys leaves most of a tile masked.
std::vector<SpeedPoint> attention_points(double best) {
    std::vector<SpeedPoint> points;
    for (const double keys : {64.0, 512.0, 4096.0, 32768.0})
        points.push_back({keys, best * keys / (keys + 256)});
    return points;
}

// SageAttention in 8 bits is reported as twice as fast as FlashAttention-2 on an RTX 4090, an Ada
// part as the L40S is (Zhang et al., SageAttention2, 2024, abstract). So it is taken for twice what
// attention in bf16 is assumed to reach: on an L40S 362 TFLOP/s, 0.49 of 733. On Hopper that is a
// guess.
constexpr double kGainOf8Bits = 2;
constexpr Bytes kKeyBlocks{std::int64_t{20} << 20};    // 128 blocks of 8 heads of 128
constexpr Bytes kRoundedRows{std::int64_t{96} << 20};  // 4,096 queries of 64 heads, 8,192 keys of 8

void add_attention(const Published& part, std::string_view op, double share,
                   std::vector<OpSpeed>& speeds) {
    // At head dim 64 exponentials cost twice as much beside the products: assumed 0.75 of 128's.
    for (const auto& [head_dim, of_best] : {std::pair(64, 0.75), std::pair(128, 1.0)}) {
        speeds.push_back({.op = std::string(op),
                          .head_dim = head_dim,
                          .overhead = kLaunch,
                          .points = attention_points(share * of_best * part.peak_flops)});
    }
}

void set_workspace(std::string_view op, Bytes workspace, std::vector<OpSpeed>& speeds) {
    for (OpSpeed& speed : speeds)
        if (speed.op == op) speed.workspace = workspace;
}

OpSpeed speed_on(const Published& part, std::string_view op) {
    OpSpeed speed{.op = std::string(op), .overhead = kLaunch};
    const double best = part.reached.products * part.peak_flops;
    if (one_of(op, {"linear_fwd", "linear_bwd_input", "linear_bwd_weight"})) {
        speed.points = product_points(best);
        speed.workspace = kMatmulSpace;
    } else if (one_of(op, {"fp8_linear_fwd", "fp8_linear_bwd_input", "fp8_linear_bwd_weight"})) {
        speed.points = product_points(part.reached.products * part.fp8_flops);
        speed.workspace = kMatmulSpace;
    } else if (one_of(op, {"fp8_block_fwd", "fp8_block_bwd_input", "fp8_block_bwd_weight"})) {
        speed.points = product_points(part.reached.block_products * part.peak_flops);
    } else if (one_of(op, {"linear_cross_entropy", "head_statistics", "head_bwd"})) {
        speed.points = {{256, 0.5 * best}, {1024, 0.7 * best}, {4096, 0.85 * best}};
        speed.workspace = kHeadSpace;
    } else if (one_of(op, {"upload", "download"})) {
        speed.overhead = kTransfer;
        speed.points = {{1, kLinkShare * part.link}};
    } else if (one_of(op, {"embedding_fwd", "embedding_bwd"})) {
        speed.points = {{1, kScatterShare * part.memory}};
    } else {
        speed.points = {{1, kMemoryShare * part.memory}};
        if (one_of(op, {"rmsnorm_bwd", "sum_squares"})) speed.workspace = {std::int64_t{16} << 20};
    }
    return speed;
}

DeviceProfile profile_of(const Published& part) {
    DeviceProfile profile{.name = std::string(part.name), .compute = DType::bf16};
    profile.provenance = format(
        "published: {}. Assumed: products reach {} of the peak, attention {} forward and {} "
        "backward, elementwise kernels {} of the bandwidth, copies {} of the link",
        part.source, part.reached.products, part.reached.attention_fwd, part.reached.attention_bwd,
        kMemoryShare, kLinkShare);
    if (part.fp8_flops > 0) {
        profile.provenance += format(", products in FP8 with scales of blocks {} of the bf16 peak",
                                     part.reached.block_products);
    }
    profile.peak_flops = part.peak_flops;
    profile.fp8_peak_flops = part.fp8_flops;
    profile.memory = {static_cast<std::int64_t>(part.capacity)};
    profile.held = kHeld;
    profile.prepared_copies = 1;  // bf16 as it is
    for (const std::string_view op : profiled_ops()) {
        const bool fp8 =
            op.starts_with("quantize") || op.starts_with("fp8_") || op.ends_with("_8bit");
        if (fp8 && part.fp8_flops == 0) continue;
        if (op == "attention_fwd") {
            add_attention(part, op, part.reached.attention_fwd, profile.ops);
        } else if (op == AttentionFwd8::kName) {
            add_attention(part, op, kGainOf8Bits * part.reached.attention_fwd, profile.ops);
            set_workspace(op, kKeyBlocks, profile.ops);
        } else if (op == "attention_bwd") {
            add_attention(part, op, part.reached.attention_bwd, profile.ops);
        } else if (op == AttentionBwd8::kName) {
            add_attention(part, op, part.reached.attention_bwd, profile.ops);
            set_workspace(op, kRoundedRows, profile.ops);
        } else {
            profile.ops.push_back(speed_on(part, op));
        }
    }
    return profile;
}

}  // namespace

std::vector<DeviceProfile> published_profiles() {
    std::vector<DeviceProfile> profiles;
    for (const Published& part : kParts)
        profiles.push_back(profile_of(part));
    return profiles;
}

}  // namespace rm
