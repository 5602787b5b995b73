#include "planner/search/extremes.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"

namespace rm {
namespace {

constexpr std::int64_t kShortest = 4096;
constexpr std::int64_t kLongest = std::int64_t{1} << 28;  // tokens, beyond any that is trained
constexpr std::int64_t kProbeTokens = 131072;             // of a rank
constexpr int kTries = 4;
constexpr std::size_t kMostRemedies = 3;
constexpr int kMostTimes = 64;  // as many devices are looked at

// The question of another job, or of another number of devices.
SearchQuestion about(const SearchQuestion& question, const JobSpec& spec, int devices,
                     std::vector<Mesh> meshes) {
    return {.spec = spec,
            .model = question.model,
            .fleet = question.fleet,
            .devices = devices,
            .meshes = std::move(meshes),
            .places = question.places,
            .in_order = question.in_order,
            .is_host_device = question.is_host_device,
            .like = question.like};
}

// No mesh of so many devices, or of such a context, is no plan.
Result<bool> fits(const SearchQuestion& question) {
    auto some = some_plan_fits(question);
    if (!some && some.error().code == ErrorCode::invalid_argument) return false;
    return some;
}

Result<bool> fits_with_context(const SearchQuestion& question, std::int64_t context,
                               const Mesh& mesh) {
    const JobSpec spec = with_context(question.spec, context);
    return fits(about(question, spec, question.devices, {mesh}));
}

Result<std::vector<LeanPlan>> lean_with_context(const SearchQuestion& question,
                                                std::int64_t context) {
    const JobSpec spec = with_context(question.spec, context);
    return lean_plans(about(question, spec, question.devices, question.meshes));
}

// How far a mesh goes, if memory grows with the context in proportion.
struct Reach {
    Mesh mesh;
    std::int64_t context = 0;
};
std::int64_t reach(double at, double bytes, double more_at, double more, double limit) {
    const double slope = (more - bytes) / (more_at - at);
    if (slope <= 0) return bytes <= limit ? kLongest : 0;
    return static_cast<std::int64_t>(
        std::clamp(at + (limit - bytes) / slope, 0.0, static_cast<double>(kLongest)));
}

double bytes_of(Bytes bytes) {
    return static_cast<double>(bytes.value);
}
double bytes_of(const std::optional<Bytes>& limit) {
    return limit ? static_cast<double>(limit->value) : std::numeric_limits<double>::max();
}

// The meshes that go farthest, by two contexts long enough for tiles and chunks of full length.
Result<std::vector<Reach>> reach_of(const SearchQuestion& question) {
    const std::int64_t shorter = kProbeTokens * question.devices, longer = 2 * shorter;
    RM_TRY(const std::vector<LeanPlan> few, lean_with_context(question, shorter));
    RM_TRY(const std::vector<LeanPlan> more, lean_with_context(question, longer));
    const MemorySpec limits = limits_of(question);
    std::vector<Reach> meshes;
    for (const LeanPlan& plan : few) {
        const auto same = [&](const LeanPlan& other) { return other.mesh == plan.mesh; };
        const auto other = std::find_if(more.begin(), more.end(), same);
        if (other == more.end()) continue;
        const auto along = [&](Bytes bytes, Bytes further, const std::optional<Bytes>& limit) {
            return reach(static_cast<double>(shorter), bytes_of(bytes), static_cast<double>(longer),
                         bytes_of(further), bytes_of(limit));
        };
        meshes.push_back({plan.mesh, std::min(along(plan.device, other->device, limits.device),
                                              along(plan.host, other->host, limits.host))});
    }
    std::stable_sort(meshes.begin(), meshes.end(),
                     [](const Reach& a, const Reach& b) { return a.context > b.context; });
    return meshes;
}

Result<bool> fits_on(const SearchQuestion& question, int devices) {
    JobSpec spec = question.spec;
    spec.resources.devices = 0;
    return fits(about(question, spec, devices, question.meshes));
}

int devices_of(const RankedPlan& plan) {
    return plan.sharding.mesh.num_ranks();
}

// The fastest plan on each of 1, 2, 4 and so on and all devices that some plan fits on.
std::vector<RankedPlan> plans_by_devices(const SearchQuestion& question) {
    const int all = question.most_devices();
    JobSpec spec = question.spec;
    spec.resources.devices = 0;
    std::vector<RankedPlan> plans;
    for (int devices = 1; devices < 2 * all; devices *= 2) {
        const int number = std::min(devices, all);
        auto result = search_plans(about(question, spec, number, question.meshes), {.ranked = 1});
        if (result && !result->ranked.empty()) plans.push_back(std::move(result->ranked.front()));
    }
    return plans;
}

// The first plan for which `value` is least.
template <typename Value>
auto least_by(std::vector<RankedPlan>& plans, const Value& value) {
    return std::min_element(
        plans.begin(), plans.end(),
        [&](const RankedPlan& a, const RankedPlan& b) { return value(a) < value(b); });
}

// Collects remedies.
class Remedies {
public:
    Remedies(const SearchQuestion& question, const LargerFleet& larger)
        : question_(question), larger_(larger) {}

    Result<std::vector<Remedy>> run() {
        const JobSpec& spec = question_.spec;
        const MemorySpec& memory = spec.memory;
        const auto set = [](auto change) { return [change](JobSpec& job) { change(job); }; };
        const bool host = !question_.is_host_device;
        if (host && (memory.offload == Switch::off || memory.windows == Switch::off))
            RM_RETURN_IF_ERROR(attempt("memory: {offload: auto, windows: auto}", set([](auto& job) {
                                           job.memory.offload = job.memory.windows =
                                               Switch::automatic;
                                       })));
        if (memory.alpha || memory.keep || memory.chunk > 0 || memory.tile > 0)
            RM_RETURN_IF_ERROR(attempt("memory: auto, but for its limits", set([](auto& job) {
                                           job.memory = {.offload = job.memory.offload,
                                                         .windows = job.memory.windows,
                                                         .device = job.memory.device,
                                                         .host = job.memory.host};
                                       })));
        if (spec.parallel)
            RM_RETURN_IF_ERROR(
                attempt("parallel: auto", set([](auto& job) { job.parallel.reset(); })));
        if (spec.optimizer.moments != "bf16")
            RM_RETURN_IF_ERROR(attempt("optimizer.moments: bf16",
                                       set([](auto& job) { job.optimizer.moments = "bf16"; })));
        if (host && spec.optimizer.place == OptimizerPlace::device)
            RM_RETURN_IF_ERROR(attempt("optimizer.place: host", set([](auto& job) {
                                           job.optimizer.place = OptimizerPlace::host;
                                       })));
        RM_RETURN_IF_ERROR(attempt_devices());
        RM_RETURN_IF_ERROR(attempt_context());
        return std::move(found_);
    }

private:
    Status attempt(const std::string& change, const std::function<void(JobSpec&)>& apply) {
        JobSpec spec = question_.spec;
        apply(spec);
        return attempt(change, spec, question_.devices);
    }
    Status attempt(const std::string& change, const JobSpec& spec, int devices) {
        return attempt(change, about(question_, spec, devices, {}));
    }
    Status attempt(const std::string& change, const SearchQuestion& question) {
        if (found_.size() == kMostRemedies) return {};
        RM_TRY(const bool some, fits(question));
        if (!some) return {};
        RM_TRY(SearchResult result, search_plans(question, {.ranked = 1}));
        if (!result.ranked.empty()) found_.push_back({change, std::move(result.ranked.front())});
        return {};
    }
    Status attempt_devices() {
        JobSpec spec = question_.spec;
        spec.parallel.reset();
        spec.resources.devices = 0;
        const std::size_t before = found_.size();
        const int all = question_.most_devices();
        for (int devices = question_.devices; devices < all && found_.size() == before;) {
            devices = std::min(all, 2 * devices);
            RM_RETURN_IF_ERROR(attempt(format("{} devices", devices), spec, devices));
        }
        for (int times = 2; larger_ && times <= kMostTimes && found_.size() == before; times *= 2) {
            RM_TRY(const FleetSpec fleet, larger_(all * times));
            RM_RETURN_IF_ERROR(attempt(format("{} devices", all * times),
                                       {spec, question_.model, fleet, all * times}));
        }
        return {};
    }
    Status attempt_context() {
        if (found_.size() == kMostRemedies) return {};
        RM_TRY(const std::int64_t context, longest_context(question_));
        if (context == 0 || context >= longest_stage(question_.spec).context) return {};
        return attempt(format("a context of {} tokens", context),
                       with_context(question_.spec, context), question_.devices);
    }

    const SearchQuestion& question_;
    const LargerFleet& larger_;
    std::vector<Remedy> found_;
};

}  // namespace

JobSpec with_context(const JobSpec& spec, std::int64_t context) {
    JobSpec other = spec;
    for (StageSpec& stage : other.stages) {
        if (stage.context != longest_stage(spec).context) continue;
        const std::int64_t sequences = stage.sequences_per_step(), steps = stage.num_steps();
        stage.context = context;
        stage.batch = sequences * context;
        stage.tokens = steps * stage.batch;
    }
    return other;
}

Result<std::int64_t> longest_context(const SearchQuestion& question) {
    RM_TRY(const std::vector<Reach> meshes, reach_of(question));
    for (const Reach& mesh : meshes) {
        const auto octave = std::bit_floor(static_cast<std::uint64_t>(mesh.context));
        const std::int64_t step = std::max(kShortest, static_cast<std::int64_t>(octave / 8));
        std::int64_t context = mesh.context / step * step;
        for (int tries = 0; tries < kTries && context >= kShortest; ++tries, context -= step) {
            RM_TRY(const bool good, fits_with_context(question, context, mesh.mesh));
            if (good) return context;
        }
    }
    return 0;
}

Result<int> fewest_devices(const SearchQuestion& question) {
    const int all = question.most_devices();
    int enough = 1, few = 0;
    while (true) {
        RM_TRY(const bool good, fits_on(question, enough));
        if (good) break;
        if (enough == all) return 0;
        few = enough;
        enough = std::min(all, 2 * enough);
    }
    while (enough - few > 1) {
        const int middle = (enough + few) / 2;
        RM_TRY(const bool good, fits_on(question, middle));
        (good ? enough : few) = middle;
    }
    return enough;
}

Result<std::vector<Remedy>> remedies_for(const SearchQuestion& question,
                                         const LargerFleet& larger) {
    return Remedies(question, larger).run();
}

std::optional<RankedPlan> cheapest_plan(const SearchQuestion& question) {
    std::vector<RankedPlan> plans = plans_by_devices(question);
    const auto held = [&](const RankedPlan& plan) {
        return devices_of(plan) * plan.time(question.spec).value;
    };
    const auto best = least_by(plans, held);
    if (best == plans.end()) return std::nullopt;
    return std::move(*best);
}

std::optional<FastestPlan> fastest_plan(const SearchQuestion& question) {
    std::vector<RankedPlan> plans = plans_by_devices(question);
    const auto time = [&](const RankedPlan& plan) { return plan.time(question.spec).value; };
    const auto best = least_by(plans, time);
    if (best == plans.end()) return std::nullopt;
    FastestPlan fastest{.plan = *best};
    if (best == plans.begin()) return fastest;
    const RankedPlan& smaller = *std::prev(best);
    fastest.over = SpeedUp{devices_of(smaller), time(smaller) / time(*best)};
    return fastest;
}

}  // namespace rm
