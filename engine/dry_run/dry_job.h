#pragma once

#include <memory>
#include <optional>

#include "engine/dry_run/predict.h"
#include "spec/job_spec.h"

namespace rm {

// How ranks share a job's work.
struct Sharding {
    Mesh mesh;
    int zero = 0;  // ZeRO stage
    bool operator==(const Sharding&) const = default;
};

// The machine of a dry run: what DryRunOptions says of it. Borrowed.
struct DryMachine {
    const DeviceProfile* profile = nullptr;
    const DeviceProfile* host_profile = nullptr;
    Kernels* like = nullptr;
    LinkSpeeds links;
};

// A job in the form that a dry run takes. Where the job keeps state on the host, it owns the host
// device that its RankSpec borrows.
class DryJob {
public:
    // `model`: the job's (resolve_model). The mesh must suit the model (check_mesh).
    DryJob(const JobSpec& spec, const ModelConfig& model, const Sharding& sharding,
           DryMachine machine);
    DryJob(const DryJob&) = delete;
    DryJob& operator=(const DryJob&) = delete;

    // The last rank of the first ring, which the others wait for: see DryRunMode.
    const RankSpec& rank() const { return rank_; }
    StageShape shape(const StageSpec& stage, const MemoryPolicy& memory) const {
        return {stage.context, memory, rank_.model.rope};  // its numbers take no time
    }
    DryRunOptions options(const StageSpec& stage) const;

private:
    DryMachine machine_;
    RankSpec rank_;
    NumericTypes types_{DType::bf16, DType::f32, DType::f32};
    ScheduleRecorder unread_;
    std::unique_ptr<Kernels> host_;  // not null: state lives on the host
};

// invalid_argument where the job computes linear layers or attention in 8 bits and the profile has
// no speeds of that.
Status check_8bit_speeds(const JobSpec& spec, const DeviceProfile& profile);

// The stage whose steps take the most memory and time.
const StageSpec& longest_stage(const JobSpec& spec);

}  // namespace rm
