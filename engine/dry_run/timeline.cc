#include "engine/dry_run/timeline.h"

#include <algorithm>

#include "engine/dry_run/rank_record.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

constexpr std::size_t kPlotWidth = 64;  // characters
constexpr int kPlotHeight = 8;

// Since the step's begin; what came before is left out.
std::vector<LiveBytes> within_step(std::vector<LiveBytes> live, double begin, std::size_t before) {
    live.erase(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(before));
    for (LiveBytes& at : live)
        at.seconds -= begin;
    return live;
}

// Requests and releases of an arena before the step.
std::size_t changes_before(const RankRecord& record, int arena) {
    const StepSchedule& schedule = record.schedule;
    const auto is_change = [&](const ScheduleItem& item) {
        return (item.kind == Kind::request || item.kind == Kind::release) &&
               schedule.buffers[item.index].arena == arena;
    };
    return static_cast<std::size_t>(std::count_if(
        schedule.items.begin(),
        schedule.items.begin() + static_cast<std::ptrdiff_t>(record.first_item), is_change));
}

std::vector<LiveBytes> live_in_step(const RankRecord& record, const ClockedSchedule& clocked,
                                    double begin, int arena) {
    return within_step(live_bytes(record.schedule, clocked, arena), begin,
                       changes_before(record, arena));
}

std::vector<StepTimeline::Stream> busy_streams(const RankRecord& record,
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

// Numbers for times: the host's calls in their order.
void count_changes(std::vector<LiveBytes>& live, double length) {
    for (std::size_t i = 0; i < live.size(); ++i)
        live[i].seconds = static_cast<double>(i) * length / static_cast<double>(live.size());
}

}  // namespace

Result<StepTimeline> timeline_of(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options) {
    RM_TRY(const RankRecord record, record_rank(spec, shape, options));
    const ClockedSchedule clocked = run_clock(record.schedule, options.links);
    const double begin = record.first_item == 0 ? 0 : clocked.items[record.first_item].begin;
    StepTimeline timeline;
    timeline.timed = options.profile != nullptr;
    timeline.state = record.state;
    timeline.length = clocked.items.back().end - begin;
    timeline.device = live_in_step(record, clocked, begin, kDeviceArena);
    timeline.host = live_in_step(record, clocked, begin, kHostArena);
    timeline.streams = busy_streams(record, clocked, begin);
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
        // What was live until then.
        for (; part < std::min(to, count - 1); ++part)
            most[part + 1] = now;
        now = at.bytes;
        most[part] = std::max(most[part], now);
    }
    for (++part; part < count; ++part)
        most[part] = now;
    return most;
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
