#include "planner/search/choose_shape.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "engine/schedule/device_profile_json.h"
#include "engine/train/rank_config.h"
#include "engine/train/rank_device.h"
#include "planner/placement/graph_devices.h"
#include "planner/search/cost_limit.h"
#include "planner/search/extremes.h"
#include "planner/search/search.h"
#include "planner/search/shortage.h"

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

// Ranks lie where the links were measured; nothing where they were not.
std::vector<DeviceId> placement_of(const RankedPlan& plan, const ShapeQuestion& question) {
    const LinkGraph& links = question.snapshot.links;
    if (places_in(links, devices_of(question)).empty()) return {};
    const GraphDevices known(links);
    std::vector<DeviceId> placement;
    for (const Endpoint& at : plan.placement)
        placement.push_back(known.id(at));
    return placement;
}

// The job's own limits: those of the devices are the planner's.
PlanShape shape_of(const RankedPlan& plan, const ShapeQuestion& question) {
    const MemoryPolicy asked = resolve_memory(question.spec.memory);
    const Prediction& step = plan.prediction;
    PlanShape shape{plan.sharding.mesh,
                    plan.sharding.zero,
                    plan.memory,
                    {step.step, plan.time(question.spec), step.device_total(), step.host_total(),
                     correction_of(question)}};
    shape.placement = placement_of(plan, question);
    shape.memory.device = asked.device;
    shape.memory.host = asked.host;
    return shape;
}

// How much workspace an op of the CPU asks for depends on its shape, so that no profile has it.
std::unique_ptr<Kernels> kernels_like(const ShapeQuestion& question) {
    const PlanningDevice& device = *question.free.front();
    if (device.kind != "cpu") return nullptr;
    auto kernels = make_rank_kernels({.spec = question.spec, .num_threads = device.num_threads});
    return kernels ? *std::move(kernels) : nullptr;
}

// A search with what it refers to: question() borrows from it.
struct Asked {
    JobSpec spec;
    ModelConfig model;
    FleetSpec fleet;
    int ranks = 0;
    std::vector<Mesh> meshes;
    std::vector<Endpoint> places;
    bool is_host_device = false;
    std::unique_ptr<Kernels> like;

    SearchQuestion question() const {
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
};

Asked asked_by(const ShapeQuestion& question, ModelConfig model, DeviceProfile profile) {
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
            .like = kernels_like(question)};
}

std::string advice_on(const SearchQuestion& question) {
    const auto remedies = remedies_for(question, nullptr);
    return remedies ? advice_text(*remedies) : std::string();
}

// `asked` is null where nothing is searched.
ShapeDecision within_cost(const ShapeQuestion& question, PlanShape shape, const Asked* asked) {
    const std::string& kind = question.free.front()->kind;
    const Rates rates = rates_of(question.snapshot.prices, kind);
    CostQuestion cost{question.spec, kind, rates, question.spent_usd};
    if (question.snapshot.by_rule)
        cost.time_remedy = "the search took too long: name the mesh, or submit the job again";
    const int ranks = shape.mesh.num_ranks();
    auto reason = over_cost_limit(cost, to_string(Sharding{shape.mesh, shape.zero}), ranks,
                                  shape.predicted.all);
    if (!reason) return shape;
    if (reason->remedy.empty() && asked != nullptr && question.snapshot.advise) {
        SearchQuestion any_mesh = asked->question();
        any_mesh.meshes.clear();
        reason->remedy =
            cheapest_text(cost, any_mesh, cost_of(rates, ranks, shape.predicted.all).money);
    }
    return Reasons{*std::move(reason)};
}

ShapeDecision rule_within_cost(const ShapeQuestion& question) {
    ShapeDecision decision = shape_by_rule(question);
    PlanShape* shape = std::get_if<PlanShape>(&decision);
    return shape == nullptr ? decision : within_cost(question, std::move(*shape), nullptr);
}

ShapeDecision search(const ShapeQuestion& question, const Asked& asked) {
    const auto result = search_plans(asked.question(), {.ranked = 1});
    if (!result) return Reasons{reason_from(result.error().message, ReasonKind::memory)};
    if (!result->ranked.empty())
        return within_cost(question, shape_of(result->ranked.front(), question), &asked);
    return Reasons{{shortage_text(*result),
                    question.snapshot.advise ? advice_on(asked.question()) : std::string(),
                    ReasonKind::memory}};
}

}  // namespace

ShapeDecision choose_shape(const ShapeQuestion& question) {
    if (question.snapshot.by_rule) return rule_within_cost(question);
    auto profile = profile_of(question);
    auto model = planned_model(question.spec);
    if (!profile || !model) return rule_within_cost(question);
    return search(question, asked_by(question, *std::move(model), *std::move(profile)));
}

}  // namespace rm
