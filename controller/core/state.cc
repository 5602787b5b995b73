#include "controller/core/state.h"

#include <algorithm>

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
        return invalid_argument("'{}' is the beginning of several {} ids: {}, {}{}", text, kind,
                                found[0], found[1], found.size() > 2 ? ", ..." : "");
    }
    return typename Map::key_type{found[0]};
}

void hold_reported(const Node& node, std::map<DeviceId, Holder>& holders) {
    for (const auto& [epoch, status] : node.session.reported) {
        if (!status.processes_left) continue;
        for (const DeviceInfo& device : node.inventory.devices) {
            // A status without ranks does not say which devices its processes use: all of them.
            const bool used =
                status.ranks.empty() ||
                std::any_of(status.ranks.begin(), status.ranks.end(),
                            [&](const RankStatus& rank) { return rank.device == device.index; });
            if (used) holders.try_emplace({node.id, device.index}, Holder{epoch, status.job});
        }
    }
}

}  // namespace

std::set<NodeId> Attempt::nodes() const {
    std::set<NodeId> nodes;
    for (const RankRecord& rank : ranks)
        nodes.insert(rank.device.node);
    return nodes;
}

void rebuild_indexes(State& state, WallTime now) {
    state.live_jobs.clear();
    state.requests.clear();
    state.jobs_by_number.clear();
    state.attempts_of.clear();
    state.revisions.clear();
    for (const auto& [id, job] : state.jobs) {
        if (!is_terminal(job.state)) state.live_jobs.insert(id);
        state.requests[job.request] = id;
        state.jobs_by_number[job.number] = id;
    }
    for (const auto& [epoch, attempt] : state.attempts) {
        state.attempts_of[attempt.job].push_back(epoch);
    }
    for (auto& [id, node] : state.nodes)
        node.session = NodeSession{.since = now};
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

const Attempt* newest_attempt(const State& state, const JobId& id) {
    const auto* epochs = find_in(state.attempts_of, id);
    return epochs == nullptr ? nullptr : find_attempt(state, epochs->back());
}

Result<JobId> resolve_job(const State& state, const std::string& text) {
    return resolve(state.jobs, "job", text);
}
Result<NodeId> resolve_node(const State& state, const std::string& text) {
    return resolve(state.nodes, "node", text);
}

std::map<DeviceId, Holder> device_holders(const State& state) {
    std::map<DeviceId, Holder> holders;
    for (const JobId& id : state.live_jobs) {
        const Attempt* attempt = newest_attempt(state, id);
        if (attempt == nullptr || is_terminal(attempt->state)) continue;
        for (const RankRecord& rank : attempt->ranks) {
            holders[rank.device] = {attempt->epoch, attempt->job};
        }
    }
    for (const auto& [id, node] : state.nodes)
        hold_reported(node, holders);
    return holders;
}

}  // namespace rm
