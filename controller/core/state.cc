#include "controller/core/state.h"

#include <algorithm>

#include "base/text.h"

namespace rm {
namespace {

template <typename Map>
auto find_in(const Map& map, const typename Map::key_type& key) {
    const auto it = map.find(key);
    return it == map.end() ? nullptr : &it->second;
}

// The keys of `map` that begin with `text`, at most three.
template <typename Map>
std::vector<std::string> matches(const Map& map, const std::string& text) {
    std::vector<std::string> found;
    for (auto it = map.lower_bound({text}); it != map.end() && found.size() < 3; ++it) {
        if (!it->first.value.starts_with(text)) break;
        found.push_back(it->first.value);
    }
    return found;
}

template <typename Map>
Result<typename Map::key_type> resolve(const Map& map, std::string_view kind,
                                       const std::string& text) {
    if (text.empty()) return invalid_argument("the {} id is empty", kind);
    if (map.contains({text})) return typename Map::key_type{text};
    const std::vector<std::string> found = matches(map, text);
    if (found.empty()) {
        return make_error(ErrorCode::not_found, "there is no {} '{}'", kind, text);
    }
    if (found.size() > 1) {
        return invalid_argument("'{}' is a prefix of several {} ids: {}, {}{}", text, kind,
                                found[0], found[1], found.size() > 2 ? ", ..." : "");
    }
    return typename Map::key_type{found[0]};
}

void hold_reported(const Node& node, std::map<DeviceId, Holder>& holders) {
    for (const auto& [epoch, status] : node.session.reported) {
        if (!status.processes_left) continue;
        for (const DeviceInfo& device : node.inventory.devices) {
            // A status without ranks does not say which devices its processes use: assume all.
            const bool used =
                status.ranks.empty() ||
                std::any_of(status.ranks.begin(), status.ranks.end(),
                            [&](const RankStatus& rank) { return rank.device == device.index; });
            if (used) holders.try_emplace({node.id, device.index}, Holder{epoch, status.job});
        }
    }
}

// Steady time starts at the wall time of this start: a later time was written before the clock was
// set back.
WallTime as_steady(WallTime wall, WallTime now) {
    return std::min(wall, now);
}

WallTime queued_since(const State& state, const JobId& id) {
    const Attempt* newest = newest_attempt(state, id);
    return newest == nullptr ? state.jobs.at(id).submitted : newest->ended;
}

void rebuild_hold(State& state, WallTime now) {
    state.held_until = {};
    state.unheard.clear();
    if (state.restored.micros == 0) return;
    state.held_until = as_steady(state.restored, now) + kRestoreHold;
    for (const auto& [id, node] : state.nodes) {
        if (node.last_seen < state.restored) state.unheard.insert(id);
    }
}

}  // namespace

std::set<NodeId> Attempt::nodes() const {
    std::set<NodeId> nodes;
    for (const RankRecord& rank : ranks) {
        if (!rank.device.node.empty()) nodes.insert(rank.device.node);
    }
    return nodes;
}

std::vector<DeviceId> Attempt::held() const {
    std::vector<DeviceId> devices;
    for (const RankRecord& rank : ranks) {
        const bool holds = rank.state != RankState::cleared && !rank.device.node.empty();
        if (holds) devices.push_back(rank.device);
    }
    return devices;
}

bool Attempt::cleared() const {
    return std::all_of(ranks.begin(), ranks.end(),
                       [](const RankRecord& rank) { return rank.state == RankState::cleared; });
}

void rebuild_indexes(State& state, WallTime now) {
    state.live_jobs.clear();
    state.requests.clear();
    state.jobs_by_number.clear();
    state.attempts_of.clear();
    state.revisions.clear();
    state.reasoned.clear();
    state.queued.clear();
    state.heard.clear();
    state.leftover.clear();
    for (const auto& [id, job] : state.jobs) {
        if (!is_terminal(job.state)) state.live_jobs.insert(id);
        if (job.state == JobState::pending) state.reasoned[id] = state.planning_version;
        state.requests[job.request] = id;
        state.jobs_by_number.add(job);
    }
    for (const auto& [epoch, attempt] : state.attempts)
        index_attempt(state, attempt, now);
    for (const auto& [id, version] : state.reasoned)
        state.queued[id] = as_steady(queued_since(state, id), now);
    state.failed_launches.clear();
    for (auto& [id, node] : state.nodes)
        node.session = NodeSession{.since = now, .silent = now};
    state.declaring.clear();
    state.probes.clear();
    rebuild_hold(state, now);
    state.planning_held = !hold_reason(state, now).empty();
}

void index_attempt(State& state, const Attempt& attempt, WallTime now) {
    std::vector<Epoch>& epochs = state.attempts_of[attempt.job];
    const auto at = std::lower_bound(epochs.begin(), epochs.end(), attempt.epoch);
    if (at == epochs.end() || *at != attempt.epoch) epochs.insert(at, attempt.epoch);
    if (!is_terminal(attempt.state)) {
        state.heard.try_emplace(attempt.epoch, now);
        return;
    }
    state.heard.erase(attempt.epoch);
    if (attempt.cleared()) {
        state.leftover.erase(attempt.epoch);
    } else {
        state.leftover.insert(attempt.epoch);
    }
}

ProfileKey key_of(const MeasuredProfile& profile) {
    return {profile.kind, profile.driver};
}

const Job* find_job(const State& state, const JobId& id) {
    return find_in(state.jobs, id);
}
const Attempt* find_attempt(const State& state, Epoch epoch) {
    return find_in(state.attempts, epoch);
}
const Node* find_node(const State& state, const NodeId& id) {
    return find_in(state.nodes, id);
}

PriceList prices_by_kind(const State& state) {
    PriceList prices = state.prices;
    if (state.shapes.empty()) return prices;
    std::map<std::string, Rates> highest;
    for (const auto& [id, node] : state.nodes) {
        if (node.state == NodeState::gone) continue;
        for (const DeviceInfo& device : node.inventory.devices) {
            const Rates rates = rates_of(state, node, device.kind);
            Rates& kind = highest.emplace(device.kind, rates).first->second;
            if (rates.price.per_device_hour > kind.price.per_device_hour) kind = rates;
        }
    }
    for (const auto& [kind, rates] : highest)
        prices[kind] = rates;
    return prices;
}

Rates rates_of(const State& state, const Node& node, const std::string& kind) {
    const std::string* shape = find_in(state.shapes, node.id);
    return rates_of(state.prices, kind, shape == nullptr ? "" : *shape);
}

const DeviceInfo* find_device(const Node& node, int index) {
    for (const DeviceInfo& device : node.inventory.devices) {
        if (device.index == index) return &device;
    }
    return nullptr;
}

const AttemptStatus* find_status(const Node& node, Epoch epoch) {
    return find_in(node.session.reported, epoch);
}
const RankStatus* find_status(const Node& node, Epoch epoch, int rank) {
    const AttemptStatus* status = find_status(node, epoch);
    if (status == nullptr) return nullptr;
    const auto found = std::find_if(status->ranks.begin(), status->ranks.end(),
                                    [&](const RankStatus& known) { return known.rank == rank; });
    return found == status->ranks.end() ? nullptr : &*found;
}

const std::vector<Epoch>& epochs_of(const State& state, const JobId& id) {
    static const std::vector<Epoch> kNone;
    const auto* epochs = find_in(state.attempts_of, id);
    return epochs == nullptr ? kNone : *epochs;
}

const Attempt* newest_attempt(const State& state, const JobId& id) {
    const std::vector<Epoch>& epochs = epochs_of(state, id);
    return epochs.empty() ? nullptr : find_attempt(state, epochs.back());
}

Result<JobId> resolve_job(const State& state, const std::string& text) {
    return resolve(state.jobs, "job", text);
}
Result<NodeId> resolve_node(const State& state, const std::string& text) {
    return resolve(state.nodes, "node", text);
}

std::vector<const Node*> nodes_by_registration(const State& state) {
    std::vector<const Node*> nodes;
    for (const auto& [id, node] : state.nodes)
        nodes.push_back(&node);
    std::sort(nodes.begin(), nodes.end(),
              [](const Node* a, const Node* b) { return a->number < b->number; });
    return nodes;
}

std::vector<const Attempt*> live_attempts(const State& state) {
    std::vector<const Attempt*> live;
    for (const auto& [epoch, heard] : state.heard)
        live.push_back(find_attempt(state, epoch));
    return live;
}

std::map<std::pair<NodeId, NodeId>, LinkAlarm> degraded_links_of(const State& state,
                                                                 const Attempt& attempt) {
    std::map<std::pair<NodeId, NodeId>, LinkAlarm> found;
    const std::set<NodeId> nodes = attempt.nodes();
    for (const auto& [ends, link] : state.degraded_links) {
        if (nodes.contains(ends.first) && nodes.contains(ends.second)) found.emplace(ends, link);
    }
    return found;
}

bool is_unreachable(const State& state, const NodeId& id, WallTime steady) {
    const Node* node = find_node(state, id);
    if (node == nullptr || node->session.up) return false;
    return node->state == NodeState::gone || steady - node->session.silent > kUnreachableAfter;
}

std::map<DeviceId, Holder> device_holders(const State& state) {
    std::map<DeviceId, Holder> holders;
    for (const Attempt* attempt : live_attempts(state)) {
        // In order of epochs: of two attempts, the higher gets the device.
        for (const DeviceId& device : attempt->held())
            holders[device] = {attempt->epoch, attempt->job};
    }
    for (const Epoch epoch : state.leftover) {
        const Attempt& attempt = state.attempts.at(epoch);
        for (const DeviceId& device : attempt.held())
            holders.try_emplace(device, Holder{epoch, attempt.job});
    }
    for (const auto& [id, node] : state.nodes)
        hold_reported(node, holders);
    return holders;
}

Reason hold_reason(const State& state, WallTime steady) {
    if (steady >= state.held_until) return {};
    std::set<NodeId> awaited = state.unheard;
    std::erase_if(awaited,
                  [&](const NodeId& id) { return state.nodes.at(id).state == NodeState::gone; });
    if (awaited.empty()) return {};
    return {"the controller was restored from a backup",
            format("waits until nodes {} have said what runs there, or until {}", join(awaited),
                   to_iso8601(state.restored + kRestoreHold))};
}

bool may_adopt(const State& state, const NodeId& node, WallTime steady) {
    const bool known = find_node(state, node) != nullptr;
    return known ? state.unheard.contains(node) : steady < state.held_until;
}

}  // namespace rm
