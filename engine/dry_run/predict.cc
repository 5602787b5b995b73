#include "engine/dry_run/predict.h"

#include <algorithm>
#include <numeric>

#include "engine/comm/communicator.h"
#include "engine/dry_run/layer_repetition.h"
#include "engine/dry_run/rank_record.h"
#include "engine/memory/arena_planner.h"

namespace rm {
namespace {

// How layers repeat. With less than `few` layers, one, or a group that keeps one input, may be both
// near the first and near the last.
struct LayerPeriod {
    std::int64_t few = 4;
    std::int64_t layers = 2;  // buffers of weights alternate
};
LayerPeriod period_of(const MemoryPolicy& memory) {
    const std::int64_t group = memory.keep_every;
    if (group == 1) return {};
    const std::int64_t layers = std::lcm(group, std::int64_t{2});
    return {.few = std::max(3 * group, 2 * layers), .layers = layers};
}

// Counts its own calls as time, so that a search ends at the same place on every machine.
class AskedClock final : public Clock {
public:
    WallTime wall() const override { return {}; }
    MonoTime mono() const override { return {asked_ += 100'000}; }

private:
    mutable std::int64_t asked_ = 0;
};

Bytes size_of_all(const ArenaTrace& trace) {
    Bytes all;
    for (const ArenaBlock& block : trace.blocks)
        all += block.size;
    return all;
}

Result<ArenaPrediction> plan(const ArenaTrace& trace, ArenaReuse reuse) {
    if (reuse == ArenaReuse::off)
        return ArenaPrediction{size_of_all(trace), peak_live(trace.blocks)};
    const AskedClock clock;
    RM_TRY(const ArenaResult result, plan_arena(trace, {.timeout = Seconds{1}}, clock));
    return ArenaPrediction{result.plan.peak, result.lower_bound};
}

// Extrapolates to a pass longer than `few` by `periods`: its plan is assumed as far above its lower
// bound as that of `more`. Nothing: layers do not repeat.
std::optional<ArenaPrediction> repeat(const ArenaTrace& few, const ArenaTrace& more,
                                      const ArenaPrediction& planned, std::int64_t periods,
                                      ArenaReuse reuse) {
    const auto repetition = LayerRepetition::find(few, more);
    if (!repetition) return std::nullopt;
    const Bytes bound = repetition->peak(periods);
    if (reuse == ArenaReuse::on)
        return ArenaPrediction{{bound.value + planned.planned.value - planned.lower_bound.value},
                               bound};
    const Bytes all = size_of_all(few);
    const std::int64_t added = planned.planned.value - all.value;
    return ArenaPrediction{{all.value + periods * added}, bound};
}

MemoryReport memory_of(const std::map<std::string, Bytes>& by_kind) {
    MemoryReport report;
    for (const auto& [kind, bytes] : by_kind)
        report.add(kind, bytes);
    return report;
}

void set_figures(const StepFigures& figures, Prediction& prediction) {
    prediction.step = {figures.seconds};
    prediction.phases = figures.phases;
    prediction.busy = figures.busy;
    prediction.moved = figures.moved;
    prediction.executed_flops = figures.flops;
    prediction.state = memory_of(figures.state);
}

void set_rates(const RankSpec& spec, const StageShape& shape, const DryRunOptions& options,
               Prediction& prediction) {
    const auto context = static_cast<double>(shape.context);
    const auto sequences = static_cast<double>(options.micro_batches * spec.mesh.size(Axis::data));
    prediction.tokens = sequences * context;
    prediction.model_flops =
        training_flops(spec.model, prediction.tokens, sequences * context * (context + 1) / 2);
    if (options.profile == nullptr) return;
    prediction.held = options.profile->held;
    if (options.asked == DryRunOptions::Asked::memory) return;
    prediction.tokens_per_sec = prediction.tokens / prediction.step.value;
    const double rate = prediction.model_flops / prediction.step.value / spec.mesh.num_ranks();
    prediction.causal_mfu = rate / options.profile->peak_flops;
    if (spec.linears.fp8 && options.profile->fp8_peak_flops > 0)
        prediction.fp8_mfu = rate / options.profile->fp8_peak_flops;
}

bool asks_arenas(const DryRunOptions& options) {
    return options.asked == DryRunOptions::Asked::all ||
           options.asked == DryRunOptions::Asked::memory;
}

// A record or an outline.
template <typename Traces>
Status plan_arenas_of(const Traces& record, ArenaReuse reuse, Prediction& prediction) {
    RM_TRY(prediction.device, plan(record.device, reuse));
    RM_TRY(prediction.host, plan(record.host, reuse));
    return {};
}

Result<Prediction> predict_one(const RankSpec& spec, const StageShape& shape,
                               const DryRunOptions& options) {
    RM_TRY(const RankOutline rank, outline_rank(spec, shape, options));
    Prediction prediction;
    if (asks_arenas(options))
        RM_RETURN_IF_ERROR(plan_arenas_of(rank, shape.memory.reuse, prediction));
    set_figures(rank.figures, prediction);
    return prediction;
}

Result<Prediction> predict_repeated(const RankSpec& spec, const StageShape& shape,
                                    const DryRunOptions& options) {
    const std::int64_t layers = spec.model.num_layers;
    LayerPeriod repeats = period_of(shape.memory);
    // Which layer a buffer is requested for near the ends matters to arenas alone.
    if (!asks_arenas(options)) repeats.few = repeats.layers;
    // Layers between those at the ends repeat.
    if (spec.linears.fp8)
        repeats.few = std::max(repeats.few, 2 * spec.linears.bf16_layers + repeats.layers);
    if (layers < repeats.few) return predict_one(spec, shape, options);
    const std::int64_t few_layers = repeats.few + (layers - repeats.few) % repeats.layers;
    if (layers <= few_layers + repeats.layers) return predict_one(spec, shape, options);
    RankSpec part = spec;
    part.model.num_layers = few_layers;
    RM_TRY(const RankOutline few, outline_rank(part, shape, options));
    part.model.num_layers = few_layers + repeats.layers;
    RM_TRY(const RankOutline more, outline_rank(part, shape, options));
    const std::int64_t periods = (layers - few_layers) / repeats.layers;

    Prediction prediction;
    if (!asks_arenas(options)) {
        set_figures(extrapolate(few.figures, more.figures, periods), prediction);
        return prediction;
    }
    const ArenaReuse reuse = shape.memory.reuse;
    RM_RETURN_IF_ERROR(plan_arenas_of(more, reuse, prediction));
    const auto device = repeat(few.device, more.device, prediction.device, periods, reuse);
    const auto host = repeat(few.host, more.host, prediction.host, periods, reuse);
    if (!device || !host) return predict_one(spec, shape, options);
    prediction.device = *device;
    prediction.host = *host;
    set_figures(extrapolate(few.figures, more.figures, periods), prediction);
    return prediction;
}

ArenaPrediction larger(const ArenaPrediction& a, const ArenaPrediction& b) {
    return {std::max(a.planned, b.planned), std::max(a.lower_bound, b.lower_bound)};
}

// Raises each value to that in `other` if it is larger.
void raise(std::map<std::string, Bytes>& values, const std::map<std::string, Bytes>& other) {
    for (const auto& [name, bytes] : other)
        values[name] = std::max(values[name], bytes);
}

Result<Prediction> predict_ends(const RankSpec& spec, const StageShape& shape,
                                const DryRunOptions& options) {
    using Asked = DryRunOptions::Asked;
    const int last_slot = spec.mesh.size(Axis::ring) - 1;
    const auto at = [&](int slot) {
        RankSpec end = spec;
        Mesh::Coords coords = spec.mesh.coords(spec.rank);
        coords[usize(Axis::ring)] = slot;
        end.rank = spec.mesh.rank(coords);
        return predict_repeated(end, shape, options);
    };
    if (options.asked == Asked::first) return at(0);
    RM_TRY(const Prediction last, at(last_slot));
    // Slots are equally long, so all ranks of a ring request the same.
    if (last_slot == 0 || options.asked == Asked::memory || options.asked == Asked::last)
        return last;
    RM_TRY(const Prediction first, at(0));
    return merge(first, last);
}

// Times need few layers of many chunks, and arenas more layers of few chunks.
Result<Prediction> predict_steady(const RankSpec& spec, const StageShape& shape,
                                  const DryRunOptions& options) {
    using Asked = DryRunOptions::Asked;
    if (options.asked != Asked::all) return predict_ends(spec, shape, options);
    DryRunOptions part = options;
    part.asked = Asked::memory;
    RM_TRY(const Prediction memory, predict_ends(spec, shape, part));
    part.asked = Asked::times;
    RM_TRY(Prediction prediction, predict_ends(spec, shape, part));
    prediction.device = memory.device;
    prediction.host = memory.host;
    return prediction;
}

RankGroups groups_of(const Mesh& mesh) {
    RankGroups groups(usize(mesh.num_ranks()));
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
        for (const GroupKey key : kGroupKeys) {
            groups[rank][static_cast<int>(key)] =
                make_group(mesh, static_cast<int>(rank), key).ranks;
        }
    }
    return groups;
}

bool same(const ArenaTrace& a, const ArenaTrace& b) {
    return std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                      [](const ArenaBlock& x, const ArenaBlock& y) {
                          return x.lower == y.lower && x.upper == y.upper && x.size == y.size;
                      });
}

// Plans the arenas of each trace that differs from its neighbour's.
Status plan_all(const std::vector<RecordedRank>& records, ArenaReuse reuse,
                Prediction& prediction) {
    const RecordedRank* last = nullptr;
    for (const RecordedRank& record : records) {
        if (last != nullptr && same(last->device, record.device) && same(last->host, record.host))
            continue;
        Prediction own;
        RM_RETURN_IF_ERROR(plan_arenas_of(record, reuse, own));
        prediction.device = larger(prediction.device, own.device);
        prediction.host = larger(prediction.host, own.host);
        last = &record;
    }
    return {};
}

StepFigures merge(const std::vector<StepFigures>& all) {
    StepFigures merged = *std::max_element(
        all.begin(), all.end(),
        [](const StepFigures& a, const StepFigures& b) { return a.seconds < b.seconds; });
    for (const StepFigures& figures : all) {
        raise(merged.state, figures.state);
        raise(merged.moved, figures.moved);
    }
    return merged;
}

Result<Prediction> predict_all(const RankSpec& spec, const StageShape& shape,
                               const DryRunOptions& options) {
    std::vector<RecordedRank> records;
    std::vector<StepSchedule> schedules, leading;
    RankSpec own = spec;
    for (own.rank = 0; own.rank < spec.mesh.num_ranks(); ++own.rank) {
        RM_TRY(RecordedRank record, record_rank(own, shape, options));
        leading.push_back(leading_part(record));
        schedules.push_back(std::move(record.schedule));
        records.push_back(std::move(record));
    }
    Prediction prediction;
    RM_RETURN_IF_ERROR(plan_all(records, shape.memory.reuse, prediction));
    const RankGroups groups = groups_of(spec.mesh);
    const auto before = run_clocks(leading, groups, options.links);
    const auto clocked = run_clocks(schedules, groups, options.links);
    std::vector<StepFigures> all;
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
        records[rank].schedule = std::move(schedules[rank]);
        all.push_back(figures_of(records[rank], before[rank], clocked[rank]));
    }
    set_figures(merge(all), prediction);
    return prediction;
}

}  // namespace

LinkSpeeds uniform_links(LinkSpeed speed) {
    LinkSpeeds links;
    for (const GroupKey key : kGroupKeys)
        links[static_cast<int>(key)] = speed;
    return links;
}

Prediction merge(const Prediction& a, const Prediction& b) {
    Prediction merged = a.step < b.step ? b : a;
    merged.device = larger(a.device, b.device);
    merged.host = larger(a.host, b.host);
    raise(merged.moved, a.moved);
    raise(merged.moved, b.moved);
    auto state = a.state.by_kind;
    raise(state, b.state.by_kind);
    merged.state = memory_of(state);
    return merged;
}

Result<Bytes> state_bytes(const RankSpec& spec, const StageShape& shape,
                          const DryRunOptions& options) {
    RM_TRY(const MemoryReport state, record_state(spec, shape, options));
    return state.total + (options.profile == nullptr ? Bytes{} : options.profile->held);
}

Result<Prediction> predict(const RankSpec& spec, const StageShape& shape,
                           const DryRunOptions& options) {
    const auto by_mode = [&] {
        switch (options.mode) {
            case DryRunMode::steady:
                return predict_steady(spec, shape, options);
            case DryRunMode::one_rank:
                return predict_one(spec, shape, options);
            case DryRunMode::every_rank:
                return predict_all(spec, shape, options);
        }
        return Result<Prediction>(invalid_argument("mode {}", static_cast<int>(options.mode)));
    };
    RM_TRY(Prediction prediction, by_mode());
    set_rates(spec, shape, options, prediction);
    return prediction;
}

}  // namespace rm
