#include "engine/schedule/rank_clock.h"

#include <algorithm>

#include "base/check.h"

namespace rm {

using Kind = ScheduleItem::Kind;

std::size_t Meetings::place_of(int group, std::vector<int> ranks) {
    std::sort(ranks.begin(), ranks.end());
    const auto [at, is_new] = known_.try_emplace({group, ranks}, places_.size());
    if (is_new) places_.push_back({std::move(ranks), {}});
    return at->second;
}

bool Meetings::arrive(std::size_t place, std::size_t number, double time, double seconds) {
    std::vector<Meeting>& meetings = places_[place].meetings;
    if (meetings.size() <= number) meetings.resize(number + 1);
    Meeting& meeting = meetings[number];
    ++meeting.arrived;
    meeting.begin = std::max(meeting.begin, time);
    meeting.seconds = std::max(meeting.seconds, seconds);
    return complete(place, number);
}

RankClock::RankClock(const StepSchedule& schedule, int rank,
                     const std::map<int, std::vector<int>>& groups, const LinkSpeeds& links,
                     Meetings& meetings)
    : schedule_(schedule),
      rank_(rank),
      peers_(groups),
      links_(links),
      meetings_(meetings),
      streams_(std::max<std::size_t>(schedule.streams.size(), 1)),
      shared_(links, streams_.size()),
      recorded_(schedule.items.size()),
      last_groups_(schedule.items.size(), kNoGroup) {
    clocked_.items.resize(schedule.items.size());
    clocked_.busy.resize(schedule.streams.size());
}

std::vector<std::size_t> RankClock::advance() {
    completed_.clear();
    bool moved = true;
    while (moved) {
        moved = queue_items();
        for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
            while (step(stream))
                moved = true;
        }
        // All streams wait now, for transfers or for other ranks: none begins before one ends.
        if (moved) continue;
        const auto ended = shared_.end_first();
        moved = ended && end_work(ended->stream, ended->begin, ended->end);
    }
    return std::move(completed_);
}

bool RankClock::over() const {
    return num_queued_ == schedule_.items.size() &&
           std::all_of(streams_.begin(), streams_.end(),
                       [](const StreamState& s) { return s.next == s.queue.size(); });
}

// Queues items up to a join of a stream that is not empty yet. Items begin at the host's time at
// the earliest; `begin` holds that time until they run.
bool RankClock::queue_items() {
    const std::uint32_t before = num_queued_;
    for (; num_queued_ < schedule_.items.size(); ++num_queued_) {
        const ScheduleItem& item = schedule_.items[num_queued_];
        ItemTimes& times = clocked_.items[num_queued_];
        times.begin = host_now_;
        if (item.kind != Kind::join) {
            streams_[item.stream].queue.push_back(num_queued_);
            continue;
        }
        const StreamState& joined = streams_[item.stream];
        if (joined.next < joined.queue.size()) break;
        last_groups_[num_queued_] = joined.last_group;
        if (joined.now > host_now_) long_joins_.push_back(num_queued_);
        host_now_ = std::max(host_now_, joined.now);
        times.end = host_now_;
    }
    return num_queued_ > before;
}

// Runs the stream's next item, if it can run.
bool RankClock::step(std::size_t stream) {
    StreamState& state = streams_[stream];
    if (state.next == state.queue.size()) return false;
    const std::uint32_t item = state.queue[state.next];
    switch (schedule_.items[item].kind) {
        case Kind::work:
            return do_work(stream, item);
        case Kind::wait:
            return do_wait(stream, item);
        case Kind::record:
            recorded_[item] = true;
            last_groups_[item] = state.last_group;
            break;
        case Kind::request:
        case Kind::release:
        case Kind::mark:
        case Kind::join:
            break;
    }
    const double now = enter(stream, item);
    return finish(stream, item, now, now);
}

bool RankClock::finish(std::size_t stream, std::uint32_t item, double begin, double end) {
    StreamState& state = streams_[stream];
    clocked_.items[item] = {begin, end};
    state.now = end;
    ++state.next;
    return true;
}

// The time at which the stream has reached the item and the host has queued it.
double RankClock::enter(std::size_t stream, std::uint32_t item) {
    StreamState& state = streams_[stream];
    const double queued = clocked_.items[item].begin;
    if (queued <= state.now) return state.now;
    // The last long join before the item delayed the host.
    const auto join = std::upper_bound(long_joins_.begin(), long_joins_.end(), item) - 1;
    if (stream == 0) note_exposed(queued - state.now, *join);
    state.now = queued;
    return queued;
}

void RankClock::note_exposed(double seconds, std::uint32_t record_or_join) {
    if (seconds <= 0) return;
    clocked_.exposed[schedule_.streams[schedule_.items[record_or_join].stream]] += seconds;
    const int group = last_groups_[record_or_join];
    if (group != kNoGroup) clocked_.exposed_traffic[group] += seconds;
}

bool RankClock::do_wait(std::size_t stream, std::uint32_t item) {
    const std::uint32_t record = schedule_.items[item].index;
    RM_CHECK(record < item, "item {} waits for the record of item {}, which is later", item,
             record);
    if (!recorded_[record]) return false;
    const double begin = enter(stream, item);
    const double end = std::max(begin, clocked_.items[record].end);
    if (stream == 0) note_exposed(end - begin, record);
    return finish(stream, item, begin, end);
}

bool RankClock::do_work(std::size_t stream, std::uint32_t item) {
    StreamState& state = streams_[stream];
    if (shared_.is_busy(stream)) return false;
    const ScheduleItem& work = schedule_.items[item];
    double begin = enter(stream, item);
    double end = begin + work.seconds.value;
    state.last_group = kNoGroup;
    if (work.num_traffic > 0) {
        if (state.arrivals.empty()) arrive(stream, item);
        for (const Arrival& arrival : state.arrivals) {
            if (!meetings_.complete(arrival.place, arrival.number)) return false;
            begin = std::max(begin, meetings_.at(arrival.place, arrival.number).begin);
        }
        end = begin;
        for (const Arrival& arrival : state.arrivals) {
            const double over = begin + meetings_.at(arrival.place, arrival.number).seconds;
            if (state.last_group == kNoGroup || over > end) state.last_group = arrival.group;
            end = std::max(end, over);
        }
        state.arrivals.clear();
        if (shared_.is_shared(state.last_group)) {
            shared_.begin(stream, state.last_group, begin, end - begin);
            return false;
        }
    }
    return end_work(stream, begin, end);
}

bool RankClock::end_work(std::size_t stream, double begin, double end) {
    StreamState& state = streams_[stream];
    clocked_.busy[stream] += end - begin;
    return finish(stream, state.queue[state.next], begin, end);
}

void RankClock::arrive(std::size_t stream, std::uint32_t item) {
    StreamState& state = streams_[stream];
    for (const Traffic& traffic : schedule_.sent(schedule_.items[item])) {
        GroupState& group = group_state(traffic.group);
        state.arrivals.push_back({group.place, group.next, traffic.group});
        if (meetings_.arrive(group.place, group.next, state.now, seconds_of(traffic)))
            completed_.push_back(group.place);
        ++group.next;
    }
}

double RankClock::seconds_of(const Traffic& traffic) const {
    const auto link = links_.find(traffic.group);
    if (link == links_.end()) return 0;
    const LinkSpeed& speed = link->second;
    const auto bytes = static_cast<double>(traffic.bytes.value);
    const double moving = speed.bytes_per_sec > 0 ? bytes / speed.bytes_per_sec : 0;
    return static_cast<double>(traffic.messages) * speed.latency.value + moving;
}

RankClock::GroupState& RankClock::group_state(int group) {
    const auto known = groups_.find(group);
    if (known != groups_.end()) return known->second;
    const auto peers = peers_.find(group);
    const std::vector<int> ranks = peers == peers_.end() ? std::vector{rank_} : peers->second;
    RM_CHECK(std::find(ranks.begin(), ranks.end(), rank_) != ranks.end(),
             "rank {} is not among the {} ranks of its group {}", rank_, ranks.size(), group);
    return groups_[group] = {meetings_.place_of(group, ranks)};
}

std::string RankClock::describe_block() const {
    std::string text;
    for (const StreamState& state : streams_) {
        for (const Arrival& arrival : state.arrivals) {
            if (meetings_.complete(arrival.place, arrival.number)) continue;
            const std::uint32_t item = state.queue[state.next];
            text += format("{}{} (item {}), number {} of group {}, where {} of {} ranks are",
                           text.empty() ? "" : "; ", schedule_.names[schedule_.items[item].index],
                           item, arrival.number, arrival.group,
                           meetings_.at(arrival.place, arrival.number).arrived,
                           meetings_.ranks(arrival.place).size());
        }
    }
    return text;
}

}  // namespace rm
