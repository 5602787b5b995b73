#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dry_run/predict.h"

// Steps that others have published, as the dry run predicts them: a check on figures that nothing
// here was fitted to.
namespace rm::bench {

// Qwen3 (arXiv:2505.09388), without its norms of queries and keys; 8 heads of keys, head dim 128.
ModelConfig qwen3(std::int64_t hidden, std::int64_t layers, std::int64_t query_heads,
                  std::int64_t feed_forward, bool tied);

struct PublishedRun {
    std::string name;  // the model
    std::string how;   // its setup, as far as it is known, and who published it
    ModelConfig model;
    std::int64_t context = 0;
    int devices = 0;
    std::string profile;   // of published_profiles()
    double link_gbit = 0;  // of each device, one way
    double seconds = 0;    // of a step of one sequence
};

// Rows whose schedule the engine has: ring, ZeRO 3, inputs alone kept, on the host.
std::vector<PublishedRun> published_runs();

// Attention kernels of an H100 SXM by their published speeds: Shah et al., FlashAttention-3
// (arXiv:2407.08608), figures 5 and 6, no mask, head dims 64 and 128.
struct AttentionKernels {
    std::string_view name;
    struct Speeds {
        std::int64_t head_dim = 0;
        std::array<double, 6> forward, backward;  // TFLOP/s at 512, 1K, ... 16K tokens
    };
    std::array<Speeds, 2> speeds;
};
extern const std::array<AttentionKernels, 3> kAttentionKernels;  // cuDNN's first
// The profile with these instead of its own, for runs that used them.
DeviceProfile with_attention(DeviceProfile profile, const AttentionKernels& kernels);

// Errors: those of predict.
Result<Prediction> foretell(const PublishedRun& run, const DeviceProfile& profile);

// Throughput on L40S that Gradient published for stages of its Llama-3-8B, nodes of 10 GPUs at 175
// Gbit/s. It does not say how ranks shared the work.
struct PublishedThroughput {
    std::int64_t context = 0;
    int devices = 0;
    double tokens_per_sec = 0;  // of a device
    Mesh mesh;                  // of our prediction
};
std::vector<PublishedThroughput> gradient_stages();

// A step of ours, with the fastest policy that fits 44.5 GiB of a device and 144 GB of its host.
// Errors: those of choose_memory.
Result<Prediction> foretell(const PublishedThroughput& stage, const DeviceProfile& profile);

}  // namespace rm::bench
