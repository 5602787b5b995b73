#include "engine/dry_run/timeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/dry_run/rank_record.h"
#include "engine/dry_run/steady_chunks.h"
#include "engine/dry_run/steady_ring.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

constexpr std::size_t kPlotWidth = 64;  // characters
constexpr int kPlotHeight = 8;

// Counts requests and releases of an arena before the step.
std::ptrdiff_t changes_before(const RecordedRank& record, int arena) {
    const StepSchedule& schedule = record.schedule;
    const auto is_change = [&](const ScheduleItem& item) {
        return (item.kind == Kind::request || item.kind == Kind::release) &&
               schedule.buffers[item.index].arena == arena;
    };
    return std::count_if(schedule.items.begin(),
                         schedule.items.begin() + static_cast<std::ptrdiff_t>(record.first_item),
                         is_change);
}

// By the time since the step's begin; earlier changes are left out.
std::vector<LiveBytes> live_in_step(const RecordedRank& record, const ClockedSchedule& clocked,
                                    double begin, int arena) {
    std::vector<LiveBytes> live = live_bytes(record.schedule, clocked, arena);
    live.erase(live.begin(), live.begin() + changes_before(record, arena));
    for (LiveBytes& at : live)
        at.seconds -= begin;
    return live;
}

std::vector<StepTimeline::Stream> busy_streams(const RecordedRank& record,
                                               const ClockedSchedule& clocked, double begin) {
    std::vector<StepTimeline::Stream> streams;
    for (const std::string& name : record.schedule.streams)
        streams.push_back({name, {}});
    for (std::size_t i = record.first_item; i < clocked.items.size(); ++i) {
        const ScheduleItem& item = record.schedule.items[i];
        if (item.kind != Kind::work) continue;
        const ItemTimes& times = clocked.items[i];
        if (times.end > times.begin)
            streams[item.stream].busy.push_back({times.begin - begin, times.end - begin});
    }
    return streams;
}

// Replaces times by the order of the host's calls.
void count_changes(std::vector<LiveBytes>& live, double length) {
    for (std::size_t i = 0; i < live.size(); ++i)
        live[i].seconds = static_cast<double>(i) * length / static_cast<double>(live.size());
}

// The timeline as recorded; where work takes no time, every change is at time 0.
Result<StepTimeline> record_timeline(const RankSpec& spec, const StageShape& shape,
                                     const DryRunOptions& options) {
    RM_TRY(const RecordedRank record, record_rank(spec, shape, options));
    const ClockedSchedule clocked = run_clock(record.schedule, options.links);
    const double begin = record.first_item == 0 ? 0 : clocked.items[record.first_item].begin;
    StepTimeline timeline;
    timeline.timed = options.profile != nullptr;
    timeline.state = record.state;
    timeline.length = clocked.items.back().end - begin;
    timeline.device = live_in_step(record, clocked, begin, kDeviceArena);
    timeline.host = live_in_step(record, clocked, begin, kHostArena);
    timeline.streams = busy_streams(record, clocked, begin);
    return timeline;
}

using Samples = std::vector<StepTimeline>;

// Moves the samples' requests and releases to their times in the whole context or ring. `combine`
// gets a time in each of the samples.
template <typename Combine>
std::vector<LiveBytes> whole_changes(const Samples& samples,
                                     std::vector<LiveBytes> StepTimeline::*arena,
                                     const Combine& combine, double length) {
    std::vector<LiveBytes> whole = samples.back().*arena;
    double last = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const double at =
            combine([&](std::size_t sample) { return (samples[sample].*arena).at(i).seconds; });
        last = whole[i].seconds = std::clamp(at, last, length);
    }
    return whole;
}

// Maps a time of the sample to the whole context, linearly between the same two requests.
class Stretch {
public:
    Stretch(const StepTimeline& sample, const StepTimeline& whole) {
        points_ = {{0, 0}};
        for (std::size_t i = 0; i < sample.device.size(); ++i)
            points_.emplace_back(sample.device[i].seconds, whole.device[i].seconds);
        points_.emplace_back(sample.length, whole.length);
    }
    double operator()(double seconds) const {
        const auto after = std::upper_bound(
            points_.begin(), points_.end(), seconds,
            [](double at, const std::pair<double, double>& point) { return at < point.first; });
        if (after == points_.end()) return points_.back().second;
        const auto before = after - 1;
        const double share = (seconds - before->first) / (after->first - before->first);
        return before->second + share * (after->second - before->second);
    }

private:
    std::vector<std::pair<double, double>> points_;
};

template <typename Combine>
StepTimeline stretched(const Samples& samples, const Combine& combine) {
    StepTimeline whole = samples.back();
    whole.length = combine([&](std::size_t sample) { return samples[sample].length; });
    whole.device = whole_changes(samples, &StepTimeline::device, combine, whole.length);
    whole.host = whole_changes(samples, &StepTimeline::host, combine, whole.length);
    const Stretch stretch(samples.back(), whole);
    for (StepTimeline::Stream& stream : whole.streams) {
        for (StepTimeline::Busy& busy : stream.busy)
            busy = {stretch(busy.begin), stretch(busy.end)};
    }
    return whole;
}

// `list`: what is different in each sample; `record` makes its timeline.
template <typename List, typename Record, typename Combine>
Result<StepTimeline> from_samples(const List& list, const Record& record, const Combine& combine) {
    Samples samples;
    for (const auto& sample : list) {
        RM_TRY(StepTimeline timeline, record(sample));
        // All samples make the same requests: without times one sample is enough.
        if (!timeline.timed) return timeline;
        samples.push_back(std::move(timeline));
    }
    return stretched(samples, combine);
}

Result<StepTimeline> timeline_of_chunks(const RankSpec& spec, const StageShape& shape,
                                        const DryRunOptions& options) {
    RM_TRY(const auto chunks, SteadyChunks::of(spec, shape, options));
    if (!chunks) return record_timeline(spec, shape, options);
    StageShape sampled = shape;
    const auto record = [&](const ChunkSample& sample) {
        sampled.sample = sample;
        return record_timeline(spec, sampled, options);
    };
    return from_samples(chunks->samples, record,
                        [&](const auto& at) { return chunks->at_end(at(0), at(1), at(2)); });
}

Result<StepTimeline> timeline_of_ring(const RankSpec& spec, const StageShape& shape,
                                      const DryRunOptions& options) {
    RM_TRY(const auto ring, SteadyRing::of(spec, shape, options));
    if (!ring) return timeline_of_chunks(spec, shape, options);
    StageShape sampled = shape;
    const auto record = [&](const RingSample& sample) {
        sampled.ring_sample = sample;
        return timeline_of_ring(spec, sampled, options);
    };
    return from_samples(ring->samples, record,
                        [&](const auto& at) { return ring->at_end(at(0), at(1)); });
}

}  // namespace

Result<StepTimeline> timeline_of(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options) {
    RM_TRY(StepTimeline timeline, timeline_of_ring(spec, shape, options));
    if (timeline.timed) return timeline;
    timeline.length = static_cast<double>(timeline.device.size());
    count_changes(timeline.device, timeline.length);
    count_changes(timeline.host, timeline.length);
    return timeline;
}

std::vector<Bytes> most_by_part(const std::vector<LiveBytes>& live, double length,
                                std::size_t count) {
    std::vector<Bytes> most(count);
    Bytes now;
    std::size_t part = 0;
    for (const LiveBytes& at : live) {
        const auto to = static_cast<std::size_t>(at.seconds / length * static_cast<double>(count));
        // `now` stayed live until this change.
        for (; part < std::min(to, count - 1); ++part)
            most[part + 1] = now;
        now = at.bytes;
        most[part] = std::max(most[part], now);
    }
    std::fill(most.begin() + static_cast<std::ptrdiff_t>(part) + 1, most.end(), now);
    return most;
}

std::vector<double> busy_by_part(const std::vector<StepTimeline::Busy>& busy, double length,
                                 std::size_t count) {
    std::vector<double> shares(count);
    const double part = length / static_cast<double>(count);
    for (const StepTimeline::Busy& work : busy) {
        for (auto i = static_cast<std::size_t>(work.begin / part); i < count; ++i) {
            const double begin = static_cast<double>(i) * part;
            if (begin >= work.end) break;
            const double both = std::min(work.end, begin + part) - std::max(work.begin, begin);
            shares[i] = std::min(1.0, shares[i] + std::max(0.0, both) / part);
        }
    }
    return shares;
}

std::string plot(const std::vector<LiveBytes>& live, double length) {
    const std::vector<Bytes> most = most_by_part(live, length, kPlotWidth);
    const Bytes peak = *std::max_element(most.begin(), most.end());
    std::string text;
    for (int row = kPlotHeight; row > 0; --row) {
        const double above = static_cast<double>(peak.value) * (row - 0.5) / kPlotHeight;
        std::string line = format("{:>10} |", row == kPlotHeight ? to_string(peak) : "");
        for (const Bytes& bytes : most)
            line += bytes.value > 0 && static_cast<double>(bytes.value) >= above ? '#' : ' ';
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text + format("{:>10} +{}\n", "0 B", std::string(kPlotWidth, '-'));
}

}  // namespace rm
