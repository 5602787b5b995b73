#include "planner/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/train/rank_config.h"
#include "planner/search/placed_meshes.h"

namespace rm {
namespace {

constexpr Bytes kAnySize{std::numeric_limits<std::int64_t>::max()};
constexpr double kTrust = 0.99;  // a longer chunk than a bound's may gain the rest of a step
constexpr double kLikeBounds = 0.02;
constexpr double kHardly = 1.002;

std::optional<Bytes> least_limit(std::optional<Bytes> given, Bytes fleets) {
    if (fleets.value == 0) return given;
    return given ? std::min(*given, fleets) : fleets;
}

// A sharding that is being looked at.
struct Entry {
    Sharding sharding;
    std::unique_ptr<DryJob> job;
    std::unique_ptr<MemorySearch> memory;
    Seconds bound = kAnyTime;  // of a step, whatever it keeps and where; unless too large
    Bytes state;               // of its device, likewise
    std::string error;
};

// Shardings with like bounds are of one class; in it, those with small states come first: they have
// memory left for what makes a step fast.
double step_class(const Entry& entry) {
    return std::floor(std::log(entry.bound.value) / kLikeBounds);
}

class Search {
public:
    Search(const SearchQuestion& question, const SearchOptions& options)
        : question_(question),
          options_(options),
          stage_(longest_stage(question.spec)),
          limits_(limits_of(question)),
          placed_(question) {}

    Result<SearchResult> run() {
        RM_TRY(const std::vector<Sharding> shardings, all_shardings());
        for (const Sharding& sharding : shardings)
            entries_.push_back(bounded(sharding));
        std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
            return std::tuple(step_class(a), -a.sharding.zero, a.bound) <
                   std::tuple(step_class(b), -b.sharding.zero, b.bound);
        });
        for (const Entry& entry : entries_)
            take(entry);
        for (const Entry& entry : entries_)
            result_.predictions += entry.memory->num_predictions();
        for (RankedPlan& plan : result_.ranked)
            RM_RETURN_IF_ERROR(finish(plan));
        std::stable_sort(result_.ranked.begin(), result_.ranked.end(), is_faster);
        sort_passed();
        result_.limits = limits_;
        result_.shardings = std::ssize(shardings);
        return std::move(result_);
    }

    Result<bool> some_fits() {
        RM_TRY(const std::vector<Sharding> shardings, lean_shardings());
        for (const Sharding& sharding : shardings) {
            const auto plan = lean_plan(sharding);
            if (plan && plan->device <= limits_.device.value_or(kAnySize) &&
                plan->host <= limits_.host.value_or(kAnySize))
                return true;
        }
        return false;
    }

    Result<std::vector<LeanPlan>> lean() {
        RM_TRY(const std::vector<Sharding> shardings, lean_shardings());
        std::vector<LeanPlan> plans;
        for (const Sharding& sharding : shardings) {
            if (auto plan = lean_plan(sharding)) plans.push_back(*std::move(plan));
        }
        return plans;
    }

private:
    Result<std::vector<Sharding>> all_shardings() const {
        const SearchQuestion& q = question_;
        if (q.meshes.empty())
            return shardings_of(q.spec, q.model, q.devices, q.fleet.devices_of_a_node());
        return shardings_on(q.spec, q.model, q.devices, q.meshes);
    }

    // Each mesh with its last stage of ZeRO; those with short tensor groups are the quickest.
    Result<std::vector<Sharding>> lean_shardings() const {
        RM_TRY(std::vector<Sharding> all, all_shardings());
        std::erase_if(all, [](const Sharding& sharding) {
            return sharding.zero < 3 &&
                   sharding.mesh.num_ranks() > sharding.mesh.size(Axis::tensor);
        });
        std::stable_sort(all.begin(), all.end(), [](const Sharding& a, const Sharding& b) {
            return a.mesh.size(Axis::tensor) < b.mesh.size(Axis::tensor);
        });
        return all;
    }
    // Nothing: the state alone is too large, or a dry run fails.
    std::optional<LeanPlan> lean_plan(const Sharding& sharding) {
        const Entry entry = entry_of(sharding);
        const auto state = entry.memory->least_state();
        if (!state || *state > limits_.device.value_or(kAnySize)) return std::nullopt;
        const auto least = entry.memory->leanest();
        if (!least) return std::nullopt;
        return LeanPlan{sharding.mesh, least->device, least->host};
    }

    std::unique_ptr<DryJob> job_of(const Sharding& sharding, const LinkSpeeds& links) const {
        return std::make_unique<DryJob>(
            question_.spec, question_.model, sharding,
            DryMachine{.profile = &question_.fleet.device, .like = question_.like, .links = links});
    }

    Entry entry_of(const Sharding& sharding) {
        Entry entry{.sharding = sharding, .job = job_of(sharding, placed_.of(sharding).links)};
        const DryJob& job = *entry.job;
        entry.memory = std::make_unique<MemorySearch>(job.rank(), job.shape(stage_, {}), limits_,
                                                      job.options(stage_));
        return entry;
    }

    Entry bounded(const Sharding& sharding) {
        Entry entry = entry_of(sharding);
        const Status status = set_bounds(entry);
        if (!status) entry.error = status.error().message;
        return entry;
    }

    Status set_bounds(Entry& entry) const {
        RM_TRY(entry.state, entry.memory->least_state());
        if (too_large(entry)) return {};
        RM_TRY(const Prediction bound, entry.memory->bound());
        entry.bound = bound.step;
        return {};
    }
    bool too_large(const Entry& entry) const {
        return limits_.device && entry.state > *limits_.device;
    }

    Seconds to_beat() const {
        const bool full = std::ssize(result_.ranked) >= options_.ranked;
        return full && !options_.exhaustive ? result_.ranked.back().prediction.step : kAnyTime;
    }

    // A later stage of the same mesh has a plan or is too slow, and this one takes more memory and
    // hardly less time.
    bool is_dominated(const Entry& entry) const {
        if (options_.exhaustive) return false;
        return std::any_of(fitting_.begin(), fitting_.end(), [&](const Entry* other) {
            return other->sharding.mesh == entry.sharding.mesh &&
                   other->sharding.zero > entry.sharding.zero &&
                   other->bound.value <= kHardly * entry.bound.value && other->state < entry.state;
        });
    }

    void take(const Entry& entry) {
        const Seconds to_beat = this->to_beat();
        if (!entry.error.empty()) {
            pass({.sharding = entry.sharding, .why = PassedOver::Why::fails, .error = entry.error});
        } else if (too_large(entry)) {
            pass({.sharding = entry.sharding,
                  .why = PassedOver::Why::too_large,
                  .device = entry.state});
        } else if (kTrust * entry.bound.value >= to_beat.value || is_dominated(entry)) {
            pass({.sharding = entry.sharding, .at_least = entry.bound});
        } else {
            search_memory_of(entry, to_beat);
        }
    }

    void search_memory_of(const Entry& entry, Seconds to_beat) {
        ++result_.searched;
        auto choice = entry.memory->run(to_beat);
        if (!choice) {
            pass({.sharding = entry.sharding,
                  .why = PassedOver::Why::fails,
                  .error = choice.error().message});
        } else if (choice->best) {
            fitting_.push_back(&entry);
            rank(entry, *std::move(choice->best));
        } else if (choice->nearest) {
            pass({.sharding = entry.sharding,
                  .why = PassedOver::Why::too_large,
                  .device = choice->nearest->prediction.device_total(),
                  .host = choice->nearest->prediction.host_total(),
                  .memory = choice->nearest->policy});
        } else {
            fitting_.push_back(&entry);
            pass({.sharding = entry.sharding, .at_least = std::max(entry.bound, to_beat)});
        }
    }

    void rank(const Entry& entry, ChosenMemory chosen) {
        RankedPlan plan{entry.sharding, chosen.policy, std::move(chosen.prediction),
                        placed_.of(entry.sharding).placement};
        const auto place =
            std::upper_bound(result_.ranked.begin(), result_.ranked.end(), plan, is_faster);
        result_.ranked.insert(place, std::move(plan));
        if (std::ssize(result_.ranked) <= options_.ranked) return;
        const RankedPlan& last = result_.ranked.back();
        pass({.sharding = last.sharding, .at_least = last.prediction.step});
        result_.ranked.pop_back();
    }
    void pass(PassedOver passed) { result_.passed.push_back(std::move(passed)); }

    static bool is_faster(const RankedPlan& a, const RankedPlan& b) {
        return a.prediction.step < b.prediction.step;
    }

    // Places its ranks by what compute hides of their messages, and predicts all stages.
    Status finish(RankedPlan& plan) {
        const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& any) {
            return any.sharding == plan.sharding;
        });
        RM_TRY(plan.prediction, entry->memory->both_ends({plan.memory, plan.prediction}));
        PlacedMesh again = placed_.again(plan);
        if (again.placement == plan.placement) return predict_stages(plan, again.links);
        const std::unique_ptr<DryJob> job = job_of(plan.sharding, again.links);
        RM_TRY(Prediction prediction,
               predict(job->rank(), job->shape(stage_, plan.memory), job->options(stage_)));
        if (prediction.step >= plan.prediction.step)
            return predict_stages(plan, placed_.of(plan.sharding).links);
        plan.prediction = std::move(prediction);
        plan.placement = std::move(again.placement);
        return predict_stages(plan, again.links);
    }

    // The other stages train with the memory of the longest.
    Status predict_stages(RankedPlan& plan, const LinkSpeeds& links) const {
        const std::unique_ptr<DryJob> job = job_of(plan.sharding, links);
        for (const StageSpec& stage : question_.spec.stages) {
            if (&stage == &stage_) {
                plan.steps.push_back(plan.prediction.step);
                continue;
            }
            RM_TRY(const Prediction prediction,
                   predict(job->rank(), job->shape(stage, plan.memory), job->options(stage)));
            plan.steps.push_back(prediction.step);
        }
        return {};
    }

    void sort_passed() {
        const auto above = [](Bytes taken, const std::optional<Bytes>& limit) {
            return limit ? std::max<std::int64_t>(0, taken.value - limit->value) : 0;
        };
        const auto excess = [&](const PassedOver& p) {
            return above(p.device, limits_.device) + above(p.host, limits_.host);
        };
        std::stable_sort(result_.passed.begin(), result_.passed.end(),
                         [&](const PassedOver& a, const PassedOver& b) {
                             return std::tuple(a.why, a.at_least, excess(a)) <
                                    std::tuple(b.why, b.at_least, excess(b));
                         });
    }

    const SearchQuestion& question_;
    const SearchOptions options_;
    const StageSpec& stage_;
    const MemorySpec limits_;
    PlacedMeshes placed_;
    std::vector<Entry> entries_;
    std::vector<const Entry*> fitting_;  // not too large, as far as was asked
    SearchResult result_;
};

Status check_question(const SearchQuestion& question) {
    const DeviceProfile& profile = question.fleet.device;
    if (question.devices < 1 || question.devices > question.most_devices()) {
        return invalid_argument("a plan on {} of {} devices", question.devices,
                                question.most_devices());
    }
    if (profile.compute == compute_type(question.spec))
        return check_8bit_speeds(question.spec, profile);
    return invalid_argument("precision: {}: the speeds of {} that are known are of {}",
                            question.spec.precision, profile.name, to_string(profile.compute));
}

}  // namespace

MemorySpec limits_of(const SearchQuestion& question) {
    MemorySpec memory = question.spec.memory;
    memory.device = least_limit(memory.device, question.fleet.device_memory());
    memory.host = least_limit(memory.host, question.fleet.host_memory());
    return memory;
}

Seconds RankedPlan::time(const JobSpec& spec) const {
    Seconds time;
    if (spec.num_steps() == 0) {
        const std::int64_t batch = spec.stages[0].batch;
        std::int64_t tokens = spec.evaluation.tokens;
        for (const SuiteSpec& suite : spec.evaluation.suites)
            tokens += suite_tokens(suite, spec.stages[0].context);
        const std::int64_t batches = (tokens + batch - 1) / batch;
        return {steps[0].value * static_cast<double>(batches)};
    }
    for (std::size_t stage = 0; stage < steps.size(); ++stage)
        time += Seconds{steps[stage].value * static_cast<double>(spec.stages[stage].num_steps())};
    return time;
}

Result<ModelConfig> planned_model(const JobSpec& spec) {
    return resolve_model(spec, std::nullopt);
}

Result<SearchResult> search_plans(const SearchQuestion& question, const SearchOptions& options) {
    RM_RETURN_IF_ERROR(check_question(question));
    return Search(question, options).run();
}

Result<std::vector<LeanPlan>> lean_plans(const SearchQuestion& question) {
    RM_RETURN_IF_ERROR(check_question(question));
    return Search(question, {}).lean();
}

Result<bool> some_plan_fits(const SearchQuestion& question) {
    RM_RETURN_IF_ERROR(check_question(question));
    return Search(question, {}).some_fits();
}

}  // namespace rm
