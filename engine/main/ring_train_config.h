#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/words.h"
#include "engine/run/run_rank.h"
#include "engine/train/rank_device.h"
#include "spec/job_spec.h"
#include "spec/model_preset.h"
#include "spec/plan.h"

namespace rm {

enum class RankKind { threads, processes };
constexpr auto vocabulary_of(RankKind) {
    return vocabulary<RankKind>(
        "engine.ranks:", {{RankKind::threads, "threads"}, {RankKind::processes, "processes"}});
}
enum class TransportKind { local, gloo, nccl };
constexpr auto vocabulary_of(TransportKind) {
    return vocabulary<TransportKind>("engine.transport:", {{TransportKind::local, "local"},
                                                           {TransportKind::gloo, "gloo"},
                                                           {TransportKind::nccl, "nccl"}});
}

// The file that ring-train reads; docs/formats/ring_train.md.
struct RingTrainConfig {
    JobSpec spec;
    std::optional<ModelConfig> model;  // engine.model: sizes given directly
    RankKind ranks = RankKind::threads;
    TransportKind transport = TransportKind::local;
    std::string address = "127.0.0.1";  // where gloo binds
    RankDevice device;
    std::string tuning_file;   // of matrix products on cuda; empty: none
    int threads_per_rank = 0;  // 0: cores / ranks, at least 1
    double timeout_seconds = 60;
    std::int64_t stop_after_steps = 0;
    std::string run_dir;  // metrics.jsonl; empty: none

    std::optional<MemoryPolicy> memory;  // chosen within limits; nothing: what the spec says

    Mesh mesh() const { return spec.parallel.value_or(Mesh()); }
    MemoryPolicy memory_policy() const { return memory ? *memory : resolve_memory(spec.memory); }
};

// Reads and validates; every message names the key.
Result<RingTrainConfig> parse_ring_train_config(std::string_view text);

RankConfig rank_config(const RingTrainConfig& config, int rank);

// The layout, for --dry-run: mesh, parameters, and for every rank the runs and tiles of each stage.
Result<std::string> describe_layout(const RingTrainConfig& config);

}  // namespace rm
