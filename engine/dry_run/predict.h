#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/schedule/clock.h"
#include "engine/train/rank_engine.h"
#include "kernels/meta/device_profile.h"
#include "spec/report.h"

// Predicts a step: queues the engine's own schedule on the meta device, timed by a profile of the
// machine. It runs and measures nothing, so the same question has the same answer everywhere.
namespace rm {

// The part of the schedule that an answer plays through.
enum class DryRunMode {
    // Few layers, the middle ones repeated, on the ranks at both ends of the ring, which represent
    // all: all slots of a zigzag-cut document do equal work, the first with all keys for half of
    // its queries in each ring step, the last with half of the keys for all queries, and all ranks
    // wait for the slower of the two.
    steady,
    one_rank,   // all layers of rank `spec.rank`; its peers keep pace with it
    every_rank  // all layers of all ranks, which wait for each other
};

struct DryRunOptions {
    NumericTypes types{DType::bf16, DType::f32, DType::f32};
    const DeviceProfile* profile = nullptr;  // null: work takes no time
    // The machine that updates state on the host; null: it takes the device's time.
    const DeviceProfile* host_profile = nullptr;
    Kernels* like = nullptr;  // asked for workspace sizes; null: the profile has them
    LinkSpeeds links;         // of each GroupKey: its slowest link
    std::int64_t micro_batches = 1;
    DryRunMode mode = DryRunMode::steady;
    // Steady mode can leave out what is not asked for: the times, or the arenas. last, first: the
    // times of one end of the ring. The last rank is hardly ever the faster of the two.
    enum class Asked { all, memory, times, last, first };
    Asked asked = Asked::all;
};

// The same speed for all groups.
LinkSpeeds uniform_links(LinkSpeed speed);

struct ArenaPrediction {
    Bytes planned;      // its size
    Bytes lower_bound;  // peak of live bytes
    bool operator==(const ArenaPrediction&) const = default;
};

// A steady step, not the first, of one rank. For several ranks: the maximum of each memory and
// traffic figure; all else from the slowest rank.
struct Prediction {
    Seconds step;
    // Seconds of the compute stream, which add up to the step. By its work: attention, products
    // (with the head), optimizer (which may prepare weights for the passes) and other. By the
    // cause of its waits: offload_exposed, update_exposed (of state on the host), ring_exposed,
    // gradient_exposed and so on by group.
    std::map<std::string, double> phases;
    std::map<std::string, double> busy;  // seconds, by stream
    ArenaPrediction device, host;
    MemoryReport state;  // besides the arenas
    Bytes held;          // by libraries and driver, outside of all
    // uploaded, downloaded; and sent by group.
    std::map<std::string, Bytes> moved;
    double executed_flops = 0;  // of the rank
    // For all ranks, their sequences one document each. FLOPs are causal, without recomputation.
    double tokens = 0;
    double model_flops = 0;
    double tokens_per_sec = 0;  // 0 where work takes no time
    double causal_mfu = 0;      // of the profile's peak, all ranks together
    double fp8_mfu = 0;         // of its peak in FP8; of a job that computes in FP8

    Bytes device_total() const { return state.total + device.planned + held; }
    // Pinned memory of the host.
    Bytes host_total() const { return host.planned + state.host_total(); }
};

// Errors: those of RankEngine::enter, except for limits of memory, which the caller compares.
Result<Prediction> predict(const RankSpec& spec, const StageShape& shape,
                           const DryRunOptions& options);

// That of the slower end of a ring, with the larger of each memory and each traffic.
Prediction merge(const Prediction& a, const Prediction& b);

// The memory of its device that a rank's state takes, with that of libraries and driver: less than
// any step of that policy. Takes next to no time. Errors: those of predict.
Result<Bytes> state_bytes(const RankSpec& spec, const StageShape& shape,
                          const DryRunOptions& options);

// Lines for people: memory, and with the prediction's `profile` times and rates.
std::string describe(const Prediction& prediction, const DeviceProfile* profile);

}  // namespace rm
