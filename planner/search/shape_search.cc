#include "planner/search/shape_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/schedule/device_profile_json.h"
#include "engine/train/rank_config.h"
#include "engine/train/rank_device.h"
#include "planner/placement/graph_devices.h"

namespace rm {
namespace {

// The speeds of the job's kind of device; null: nothing is known.
const MeasuredSpeeds* speeds_of(const ShapeQuestion& question) {
    const int profile = question.free.front()->profile;
    return profile < 0 ? nullptr : &question.snapshot.profiles[usize(profile)];
}

double correction_of(const ShapeQuestion& question) {
    const MeasuredSpeeds* speeds = speeds_of(question);
    if (speeds == nullptr) return 0;
    return compute_type(question.spec) == DType::bf16 ? speeds->bf16_correction
                                                      : speeds->fp32_correction;
}

// The measured profile of the kind, or else a published one.
std::optional<DeviceProfile> known_profile(const ShapeQuestion& question) {
    const PlanningDevice& device = *question.free.front();
    const DType compute = compute_type(question.spec);
    if (const MeasuredSpeeds* speeds = speeds_of(question)) {
        auto measured =
            device_profile_from_json(compute == DType::bf16 ? speeds->bf16 : speeds->fp32);
        if (measured && measured->compute == compute) return *std::move(measured);
    }
    for (DeviceProfile& published : published_profiles()) {
        if (published.name == device.kind && published.compute == compute)
            return std::move(published);
    }
    return std::nullopt;
}

// The same with what earlier runs took.
std::optional<DeviceProfile> profile_of(const ShapeQuestion& question) {
    auto profile = known_profile(question);
    const double correction = correction_of(question);
    if (profile && correction > 0) return slowed(*std::move(profile), correction);
    return profile;
}

// The devices that the job may take; those that it names, in its order.
std::vector<DeviceId> devices_of(const ShapeQuestion& question) {
    if (!question.spec.resources.placement.empty()) return question.spec.resources.placement;
    std::vector<DeviceId> devices;
    for (const PlanningDevice* device : question.free)
        devices.push_back(device->id);
    return devices;
}

// The devices' places in the graph; nothing unless all were measured.
std::vector<Endpoint> places_in(const LinkGraph& links, const std::vector<DeviceId>& devices) {
    const GraphDevices known(links);
    std::vector<Endpoint> places;
    for (const DeviceId& device : devices) {
        const auto place = known.find(device);
        if (!place) return {};
        places.push_back(*place);
    }
    return places;
}

// Links without measurements: messages take next to no time, on any mesh.
LinkGraph free_links(int devices) {
    constexpr Link kFree{.bandwidth = {1e9}, .flow = {}, .latency = {}};
    return uniform_graph({NodeId{"any"}}, devices, kFree, kFree);
}

Bytes least_of(const std::optional<Bytes>& given, Bytes most) {
    if (most.value == 0) return given.value_or(Bytes{});
    return given ? std::min(*given, most) : most;
}

// The job with what its devices add to its limits.
JobSpec limited(const JobSpec& spec, const PlanningDevice& device) {
    JobSpec out = spec;
    MemorySpec& memory = out.memory;
    // Its length changes results.
    if (spec.reproducible == Reproducible::on && memory.tile == 0) memory.tile = kUsualTile;
    const Bytes most = least_of(memory.device, device.memory);
    Bytes host = device.host_memory;
    // One byte of it is no room: 0 would be no limit.
    if (device.kind == "cpu" && memory.device && device.memory.value > 0)
        host = {std::max<std::int64_t>(1, device.memory.value - most.value)};
    if (device.kind == "cpu" && !memory.device) {
        if (memory.offload == Switch::automatic && memory.windows != Switch::on)
            memory.offload = Switch::off;
        if (memory.windows == Switch::automatic) memory.windows = Switch::off;
        host = device.memory;
    }
    const Bytes most_host = least_of(memory.host, host);
    if (most.value > 0) memory.device = most;
    if (most_host.value > 0) memory.host = most_host;
    return out;
}

// How much workspace an op of the CPU asks for depends on its shape, so that no profile has it.
std::unique_ptr<Kernels> kernels_like(const ShapeQuestion& question) {
    const PlanningDevice& device = *question.free.front();
    if (device.kind != "cpu") return nullptr;
    auto kernels = make_rank_kernels({.spec = question.spec, .num_threads = device.num_threads});
    return kernels ? *std::move(kernels) : nullptr;
}

ShapeSearch search_of(const ShapeQuestion& question, ModelConfig model, DeviceProfile profile) {
    const PlanningDevice& device = *question.free.front();
    std::vector<Endpoint> places = places_in(question.snapshot.links, devices_of(question));
    profile.memory = {};  // the limits say how much of it there is
    const auto devices = static_cast<int>(question.free.size());
    // The job's own mesh keeps the job's stage of ZeRO, too.
    const bool by_rule = !question.spec.parallel && places.empty();
    FleetSpec fleet{
        std::move(profile), places.empty() ? free_links(devices) : question.snapshot.links, {}};
    return {.spec = limited(question.spec, device),
            .model = std::move(model),
            .fleet = std::move(fleet),
            .ranks = question.mesh.num_ranks(),
            .meshes = by_rule ? std::vector{question.mesh} : std::vector<Mesh>{},
            .places = std::move(places),
            .is_host_device = device.kind == "cpu" && !question.spec.memory.device,
            .like = kernels_like(question),
            .correction = correction_of(question)};
}

Error unknown_speeds(const ShapeQuestion& question) {
    const PlanningDevice& device = *question.free.front();
    const char* remedy = device.kind == "cpu"
                             ? "workers measure those of CPU slots with `--profile now`"
                             : "their workers measure them while no job runs there";
    return make_error(ErrorCode::failed_precondition,
                      "the speeds of {} devices in {} are not known; {}", device.kind,
                      question.spec.precision, remedy);
}

}  // namespace

SearchQuestion ShapeSearch::question() const {
    return {.spec = spec,
            .model = model,
            .fleet = fleet,
            .devices = ranks,
            .meshes = meshes,
            .places = places,
            .in_order = !spec.resources.placement.empty(),
            .is_host_device = is_host_device,
            .like = like.get()};
}

Result<ShapeSearch> shape_search(const ShapeQuestion& question) {
    auto profile = profile_of(question);
    if (!profile) return unknown_speeds(question);
    RM_TRY(ModelConfig model, planned_model(question.spec));
    return search_of(question, std::move(model), *std::move(profile));
}

Result<ShapeSearch> untimed_search(const ShapeQuestion& question) {
    RM_TRY(ModelConfig model, planned_model(question.spec));
    ShapeSearch search = search_of(question, std::move(model), {});
    if (search.like == nullptr) return unknown_speeds(question);
    return search;
}

}  // namespace rm
