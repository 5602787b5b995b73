#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/dry_run/timeline.h"
#include "planner/search/placed_meshes.h"
#include "planner/search/plan_detail.h"
#include "planner/search/shape_search.h"

namespace rm {
namespace {

// The job on the plan's own mesh and devices.
JobSpec pinned(JobSpec spec, const Plan& plan) {
    spec.parallel = plan.mesh;
    spec.zero = plan.zero;
    spec.resources.placement = plan.placement;
    return spec;
}

// The speeds as the plan took them: later runs may have corrected them further.
PlanningSnapshot as_planned(PlanningSnapshot snapshot, const Plan& plan) {
    if (plan.predicted.step.value <= 0) return snapshot;
    for (MeasuredSpeeds& speeds : snapshot.profiles)
        speeds.bf16_correction = speeds.fp32_correction = plan.predicted.correction;
    return snapshot;
}

Result<std::vector<const PlanningDevice*>> devices_of(const PlanningSnapshot& snapshot,
                                                      const Plan& plan) {
    std::vector<const PlanningDevice*> devices;
    for (const DeviceId& id : plan.placement) {
        const auto found =
            std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                         [&](const PlanningDevice& device) { return device.id == id; });
        if (found == snapshot.devices.end())
            return make_error(ErrorCode::failed_precondition, "nothing is known of device {}", id);
        devices.push_back(&*found);
    }
    RM_CHECK(!devices.empty(), "a plan without ranks");
    return devices;
}

enum class Speeds { unknown, known };

// A dry run of the plan, and what it borrows.
class PlannedRun {
public:
    PlannedRun(const Plan& plan, ShapeSearch search, Speeds speeds)
        : kept_(std::move(search)),
          stage_(longest_stage(kept_.spec)),
          job_(kept_.spec, kept_.model, Sharding{plan.mesh, plan.zero},
               DryMachine{.profile = speeds == Speeds::known ? &kept_.fleet.device : nullptr,
                          .like = kept_.like.get(),
                          .links = links_of(Sharding{plan.mesh, plan.zero})}),
          shape_(job_.shape(stage_, plan.memory)) {}

    Result<StepTimeline> timeline() const {
        return timeline_of(job_.rank(), shape_, job_.options(stage_));
    }
    Result<Prediction> memory() const {
        DryRunOptions options = job_.options(stage_);
        options.asked = DryRunOptions::Asked::memory;
        return predict(job_.rank(), shape_, options);
    }

private:
    LinkSpeeds links_of(const Sharding& sharding) const {
        const SearchQuestion question = kept_.question();
        return PlacedMeshes(question).of(sharding).links;
    }

    const ShapeSearch kept_;
    const StageSpec& stage_;
    const DryJob job_;
    const StageShape shape_;
};

std::vector<PlannedStep::Stream> streams_of(const StepTimeline& timeline) {
    std::vector<PlannedStep::Stream> streams;
    for (const StepTimeline::Stream& stream : timeline.streams) {
        if (!stream.busy.empty())
            streams.push_back(
                {stream.name, busy_by_part(stream.busy, timeline.length, kStepParts)});
    }
    return streams;
}

// Nothing: the arena is empty.
std::vector<Bytes> parts_of(const std::vector<LiveBytes>& live, double length) {
    return live.empty() ? std::vector<Bytes>() : most_by_part(live, length, kStepParts);
}

Result<PlannedStep> step_of(const PlannedRun& run) {
    RM_TRY(const StepTimeline timeline, run.timeline());
    RM_TRY(const Prediction memory, run.memory());
    PlannedStep step;
    step.timed = timeline.timed;
    step.length = timeline.length;
    step.state = memory.state;
    step.held = memory.held;
    step.device_arena = memory.device;
    step.host_arena = memory.host;
    step.device = parts_of(timeline.device, timeline.length);
    step.host = parts_of(timeline.host, timeline.length);
    if (timeline.timed) step.streams = streams_of(timeline);
    return step;
}

}  // namespace

Result<PlannedStep> planned_step(const PlanningSnapshot& snapshot, const Plan& recorded) {
    const PlanningSnapshot then = as_planned(snapshot, recorded);
    const JobSpec spec = pinned(snapshot.pending.at(0).spec, recorded);
    RM_TRY(const auto devices, devices_of(then, recorded));
    const ShapeQuestion question{then, spec, recorded.mesh, devices};
    auto search = shape_search(question);
    const Speeds speeds = search ? Speeds::known : Speeds::unknown;
    if (!search) search = untimed_search(question);
    if (!search) return search.error();
    const bool links_measured = !search->places.empty();
    RM_TRY(PlannedStep step, step_of({recorded, *std::move(search), speeds}));
    const PlanningDevice& device = *devices.front();
    step.links_measured = links_measured;
    step.kind = device.kind;
    step.device_capacity = device.memory;
    step.host_capacity = device.host_memory;
    return step;
}

}  // namespace rm
