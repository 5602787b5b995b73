#include "engine/dry_run/rank_record.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/comm/communicator.h"
#include "engine/dry_run/steady_ring.h"
#include "engine/train/save/meeting.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

constexpr std::size_t kNumOpClasses = static_cast<std::size_t>(OpClass::download) + 1;
const std::string kCommunication = "communication";  // the stream
constexpr std::int64_t kFewPasses = 2;               // of micro-batches

MemoryReport state_of(DryRank& rank) {
    MemoryReport report;
    for (std::size_t i = 0; i < kNumMemoryKinds; ++i) {
        const auto kind = static_cast<MemoryKind>(i);
        const Bytes device = rank.device().allocated(kind);
        if (device.value > 0) report.add(std::string(to_string(kind)), device);
        const Bytes host = rank.engine().state().host_bytes(kind);
        if (host.value > 0) report.add(on_host(to_string(kind)), host);
    }
    report.add(std::string(to_string(MemoryKind::communication)),
               Meeting::memory(rank.engine().spec().mesh.num_ranks()));
    return report;
}

std::string group_name(int group) {
    return std::string(axis_name(static_cast<GroupKey>(group)));
}

// Names the cause of compute's wait for a stream as RankEngine does.
std::string_view wait_name(std::string_view stream) {
    if (stream == "to-host" || stream == "from-host") return "offload";
    if (stream == "ring-up" || stream == "ring-down") return "ring";
    if (stream == "host optimizer" || stream == "weights up") return "update";
    return kCommunication;
}

// The phase of a step that work on the compute stream belongs to.
std::string phase_of(OpClass op_class, const RecordedRank& record) {
    switch (op_class) {
        case OpClass::attention:
            return "attention";
        case OpClass::products:
            return "products";
        case OpClass::optimizer:
            return "optimizer";
        case OpClass::prepare:
            return record.update_prepares ? "optimizer" : "other";
        case OpClass::upload:
        case OpClass::download:
        case OpClass::other:
            break;
    }
    return "other";
}

template <typename Key, typename Value>
Value value_at(const std::map<Key, Value>& values, const Key& key) {
    const auto found = values.find(key);
    return found == values.end() ? Value{} : found->second;
}

void add_waits(const ClockedSchedule& before, const ClockedSchedule& clocked,
               std::map<std::string, double>& phases) {
    double by_group = 0;
    for (const auto& [group, seconds] : clocked.exposed_traffic) {
        const double waited = seconds - value_at(before.exposed_traffic, group);
        if (waited <= 0) continue;
        phases[exposed_phase(group_name(group))] += waited;
        by_group += waited;
    }
    for (const auto& [stream, seconds] : clocked.exposed) {
        const double waited = seconds - value_at(before.exposed, stream);
        if (waited <= 0 || stream == kCommunication) continue;
        phases[exposed_phase(wait_name(stream))] += waited;
    }
    // Time on the communication stream without a message: sums of gradients on the host.
    const double rest = value_at(clocked.exposed, kCommunication) -
                        value_at(before.exposed, kCommunication) - by_group;
    if (rest > 1e-9 * (1 + by_group)) phases[exposed_phase(kCommunication)] += rest;
}

// Sums over the items of a step; the maps of StepFigures would cost more than all else here.
struct ItemSums {
    double flops = 0;
    std::array<std::optional<double>, kNumOpClasses> computing{};  // seconds of the compute stream
    std::int64_t uploaded = 0, downloaded = 0;
    std::map<int, std::int64_t> sent;  // by group

    double& of(OpClass op_class) {
        auto& seconds = computing[static_cast<std::size_t>(op_class)];
        return seconds ? *seconds : seconds.emplace();
    }
};

void add_item(const StepSchedule& schedule, const ScheduleItem& item, const ItemTimes& times,
              ItemSums& sums) {
    sums.flops += item.flops;
    if (item.stream == 0) sums.of(item.op_class) += times.end - times.begin;
    for (const Traffic& traffic : schedule.sent(item))
        sums.sent[traffic.group] += traffic.bytes.value;
    const bool is_upload = item.op_class == OpClass::upload;
    if (!is_upload && item.op_class != OpClass::download) return;
    for (const AddressRange& range : schedule.writes(item))
        (is_upload ? sums.uploaded : sums.downloaded) += range.size;
}

void set_sums(const ItemSums& sums, const RecordedRank& record, StepFigures& figures) {
    figures.flops = sums.flops;
    for (std::size_t i = 0; i < kNumOpClasses; ++i) {
        if (sums.computing[i])
            figures.phases[phase_of(static_cast<OpClass>(i), record)] += *sums.computing[i];
    }
    if (sums.uploaded > 0) figures.moved["uploaded"] = {sums.uploaded};
    if (sums.downloaded > 0) figures.moved["downloaded"] = {sums.downloaded};
    for (const auto& [group, bytes] : sums.sent)
        figures.moved[group_name(group)] += Bytes{bytes};
}

double along(double few, double more, std::int64_t periods) {
    return few + static_cast<double>(periods) * (more - few);
}
Bytes along(Bytes few, Bytes more, std::int64_t periods) {
    return {few.value + periods * (more.value - few.value)};
}

// Computes each figure by `combine`, which gets the figure's value in each of the samples.
template <typename Combine, typename... Samples>
StepFigures combine_figures(const Combine& combine, const Samples&... samples) {
    const auto number = [&](double StepFigures::*figure) { return combine(samples.*figure...); };
    const auto by_name = [&](auto figure) {
        auto all = StepFigures().*figure;
        (all.insert((samples.*figure).begin(), (samples.*figure).end()), ...);
        for (auto& entry : all)
            entry.second = combine(value_at(samples.*figure, entry.first)...);
        return all;
    };
    return {.seconds = number(&StepFigures::seconds),
            .phases = by_name(&StepFigures::phases),
            .busy = by_name(&StepFigures::busy),
            .moved = by_name(&StepFigures::moved),
            .state = by_name(&StepFigures::state),
            .flops = number(&StepFigures::flops)};
}

RankOutline outline_of(RecordedRank record, const LinkSpeeds& links) {
    RankOutline outline;
    outline.figures = figures_of(record, run_clock(leading_part(record), links),
                                 run_clock(record.schedule, links));
    outline.device = std::move(record.device);
    outline.host = std::move(record.host);
    recycle(std::move(record.schedule));
    return outline;
}

// Two short rings, and from them the whole one.
Result<RankOutline> outline_ring(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options, const SteadyRing& ring) {
    StageShape sampled = shape;
    sampled.ring_sample = ring.samples[0];
    RM_TRY(RankOutline few, outline_rank(spec, sampled, options));
    sampled.ring_sample = ring.samples[1];
    RM_TRY(const RankOutline more, outline_rank(spec, sampled, options));
    few.figures = extrapolate(few.figures, more.figures, ring.periods);
    return few;
}

MetaOptions meta_options(const DryRunOptions& options) {
    return {.types = options.types, .like = options.like, .profile = options.profile};
}

// The state, and the requests of a pass: those of the sample by which a rank plans its arenas when
// it starts.
Result<RankOutline> outline_memory(const RankSpec& spec, const StageShape& shape,
                                   const DryRunOptions& options) {
    StageShape sampled = shape;
    sampled.sample = planning_sample(shape.memory);
    sampled.ring_sample = kPlanningRing;
    DryRank rank(spec, meta_options(options), options.host_profile, KeptRanges::of_transfers);
    RM_RETURN_IF_ERROR(rank.enter(sampled));
    RankOutline outline;
    outline.figures.state = state_of(rank).by_kind;
    rank.step();
    outline.device = rank.requests().device.of(PassKind::train).trace;
    outline.host = rank.requests().host.of(PassKind::train).trace;
    recycle(rank.take_schedule());
    return outline;
}

// Passes between the first and the last of a step are alike.
Result<RankOutline> outline_passes(const RankSpec& spec, const StageShape& shape,
                                   const DryRunOptions& options) {
    DryRunOptions part = options;
    part.micro_batches = kFewPasses;
    RM_TRY(RankOutline few, outline_rank(spec, shape, part));
    part.micro_batches = kFewPasses + 1;
    RM_TRY(const RankOutline more, outline_rank(spec, shape, part));
    few.figures = extrapolate(few.figures, more.figures, options.micro_batches - kFewPasses);
    return few;
}

}  // namespace

Result<MemoryReport> record_state(const RankSpec& spec, const StageShape& shape,
                                  const DryRunOptions& options) {
    DryRank rank(spec, meta_options(options), options.host_profile, KeptRanges::of_transfers);
    RM_RETURN_IF_ERROR(rank.enter(shape));
    return state_of(rank);
}

Result<RecordedRank> record_rank(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options) {
    DryRank rank(spec, meta_options(options), options.host_profile, KeptRanges::of_transfers);
    RM_RETURN_IF_ERROR(rank.enter(shape));
    RecordedRank record;
    record.state = state_of(rank);
    record.update_prepares = spec.host == nullptr && spec.zero < 3;
    // A step joins its streams at its end, except for the update of state on the host, which runs
    // into the next step.
    if (spec.host != nullptr) rank.step(options.micro_batches);
    record.first_item = rank.schedule().items.size();
    rank.step(options.micro_batches);
    record.device = rank.requests().device.of(PassKind::train).trace;
    record.host = rank.requests().host.of(PassKind::train).trace;
    record.schedule = rank.take_schedule();
    return record;
}

StepSchedule leading_part(const RecordedRank& record) {
    const StepSchedule& whole = record.schedule;
    StepSchedule part;
    part.streams = whole.streams;
    part.names = whole.names;
    part.buffers = whole.buffers;
    part.items.assign(whole.items.begin(),
                      whole.items.begin() + static_cast<std::ptrdiff_t>(record.first_item));
    std::size_t ranges = 0, traffic = 0;
    for (const ScheduleItem& item : part.items) {
        const std::size_t touched = item.num_reads + std::size_t{item.num_writes};
        ranges = std::max(ranges, item.first_range + touched);
        traffic = std::max(traffic, std::size_t{item.first_traffic} + item.num_traffic);
    }
    part.ranges.assign(whole.ranges.begin(),
                       whole.ranges.begin() + static_cast<std::ptrdiff_t>(ranges));
    part.traffic.assign(whole.traffic.begin(),
                        whole.traffic.begin() + static_cast<std::ptrdiff_t>(traffic));
    return part;
}

StepFigures figures_of(const RecordedRank& record, const ClockedSchedule& before,
                       const ClockedSchedule& clocked) {
    const StepSchedule& schedule = record.schedule;
    StepFigures figures;
    figures.seconds = clocked.items.back().end - before.items.back().end;
    figures.state = record.state.by_kind;
    ItemSums sums;
    for (std::size_t i = record.first_item; i < schedule.items.size(); ++i) {
        if (schedule.items[i].kind == Kind::work)
            add_item(schedule, schedule.items[i], clocked.items[i], sums);
    }
    set_sums(sums, record, figures);
    add_waits(before, clocked, figures.phases);
    for (std::size_t i = 0; i < schedule.streams.size(); ++i)
        figures.busy[schedule.streams[i]] = clocked.busy[i] - before.busy[i];
    return figures;
}

StepFigures extrapolate(const StepFigures& few, const StepFigures& more, std::int64_t periods) {
    return combine_figures([=](auto a, auto b) { return along(a, b, periods); }, few, more);
}

Result<RankOutline> outline_rank(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options) {
    if (options.asked == DryRunOptions::Asked::memory) return outline_memory(spec, shape, options);
    if (options.mode == DryRunMode::steady && options.micro_batches > kFewPasses + 1)
        return outline_passes(spec, shape, options);
    RM_TRY(const auto ring, SteadyRing::of(spec, shape, options));
    if (ring) return outline_ring(spec, shape, options, *ring);
    RM_TRY(const auto chunks, SteadyChunks::of(spec, shape, options));
    if (!chunks) {
        RM_TRY(RecordedRank record, record_rank(spec, shape, options));
        return outline_of(std::move(record), options.links);
    }
    RankOutline outline;
    std::array<StepFigures, 3> figures;
    for (std::size_t i = 0; i < figures.size(); ++i) {
        StageShape sampled = shape;
        sampled.sample = chunks->samples[i];
        RM_TRY(RecordedRank record, record_rank(spec, sampled, options));
        outline = outline_of(std::move(record), options.links);
        figures[i] = outline.figures;
    }
    outline.figures =
        combine_figures([&](auto a, auto b, auto c) { return chunks->at_end(a, b, c); }, figures[0],
                        figures[1], figures[2]);
    return outline;
}

}  // namespace rm
