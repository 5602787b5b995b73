#include "controller/core/roots/job_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "spec/model_preset.h"

namespace rm {
namespace {

constexpr std::size_t kNamed = 4;

std::string names_of(const std::set<NodeId>& nodes) {
    std::vector<NodeId> named(std::min(nodes.size(), kNamed));
    std::copy_n(nodes.begin(), named.size(), named.begin());
    const std::size_t more = nodes.size() - named.size();
    return format("{} {}{}", plural(nodes.size(), "node"), join(named),
                  more == 0 ? "" : format(" and {} more", more));
}

std::string key_of(const CheckFiles& check) {
    std::string key;
    for (const FileWanted& file : check.files)
        key += format("{} {}\n", to_string(file.use), file.path);
    return key;
}

std::int64_t parameters_of(const ModelSpec& model) {
    const Result<ModelConfig> preset = find_preset(model.preset);
    return preset ? preset->num_parameters() : 0;
}

Bytes checkpoint_bytes(const FilesNeed& need, const std::vector<FileFacts>& facts) {
    std::int64_t parameters = need.parameters;
    for (const FileFacts& file : facts) {
        if (file.use == FileUse::model) parameters = file.parameters;
    }
    return {parameters * need.parameter_bytes};
}

Reason about_files(std::string text, std::string remedy) {
    return {std::move(text), std::move(remedy), ReasonKind::files};
}

Reason against(const FilesNeed& need, const std::vector<FileFacts>& facts) {
    for (const FileFacts& file : facts) {
        if (!file.problem.empty()) {
            Reason told =
                reason_from(format("{} {}: {}", to_string(file.use), file.path, file.problem),
                            ReasonKind::files);
            if (told.remedy.empty()) told.remedy = "fix that there, or name another path";
            return told;
        }
        if (need.most_parameters > 0 && file.parameters > need.most_parameters) {
            return about_files(
                format("{} {} has {} parameters, and weights, gradients and moments of at most {} "
                       "fit the devices of this cluster",
                       to_string(file.use), file.path, file.parameters, need.most_parameters),
                kFitsRemedy);
        }
        const Bytes one = checkpoint_bytes(need, facts);
        const Bytes all = one * need.copies;
        if (file.use != FileUse::checkpoint || file.free >= all) continue;
        return about_files(format("{} {} has {} free, and {} checkpoints of {} need {}",
                                  to_string(file.use), file.path, file.free, need.copies, one, all),
                           "make room, or keep fewer (checkpoint.keep)");
    }
    return {};
}

// Everything that must be equal on the nodes of one placement. A root that was not compared counts
// as its node's own.
std::string place_of(const Node& node, const std::vector<FileFacts>& facts) {
    std::string place;
    for (const FileFacts& file : facts) {
        place += file.index + '\n';
        if (file.use != FileUse::checkpoint) continue;
        const auto measured = node.session.places.find(file.root);
        const bool own = measured == node.session.places.end();
        place += format("{}/{}\n", own ? node.id.value : measured->second, file.below);
    }
    return place;
}

// Ends in bounded time: every writable root gets compared, or its probe fails.
bool waits_for_measuring(const Node& node, const std::vector<FileFacts>& facts) {
    const NodeSession& session = node.session;
    return std::any_of(facts.begin(), facts.end(), [&](const FileFacts& file) {
        return file.use == FileUse::checkpoint && !session.places.contains(file.root) &&
               !session.probe_failed.contains(file.root);
    });
}

bool announces_loopback(const Node& node) {
    const std::string& address = node.inventory.data_address;
    return address.starts_with("127.") || address == "::1";
}

// Ranks that listen on a loopback address reach only those of the same network.
std::string reach_of(const Node& node) {
    return announces_loopback(node) ? "loopback of " + node.session.network : "";
}

bool counts(const Node& node) {
    return node.session.up && node.drained.empty() && node.state != NodeState::gone;
}

void add_against(const JobFiles& files, Reasons& reasons) {
    std::map<Reason, std::set<NodeId>> nodes;
    for (const auto& [id, node] : files.nodes) {
        if (!node.against.empty()) nodes[node.against].insert(id);
    }
    for (const auto& [why, ids] : nodes)
        reasons.push_back(about_files(format("{}: {}", names_of(ids), why.text), why.remedy));
}

// Nodes by what they report about one path.
using Groups = std::map<std::string, std::set<NodeId>>;

std::string listed(const Groups& groups, bool with_index) {
    std::vector<std::string> parts;
    for (const auto& [value, nodes] : groups) {
        // The first digits of an index hash tell it from others.
        const std::string index = with_index ? format(" (index {})", value.substr(0, 8)) : "";
        parts.push_back(names_of(nodes) + index);
    }
    return join(parts, " and ");
}

struct Comparison {
    Groups indexes;
    Groups places;
};

Comparison compare(const State& state, const FilesNeed& need, const JobFiles& files,
                   std::size_t which) {
    Comparison comparison;
    for (const auto& [id, verdict] : files.nodes) {
        const NodeSession& session = state.nodes.at(id).session;
        const auto answer = session.files.find(need.check.key);
        if (!verdict.against.empty() || answer == session.files.end()) continue;
        if (which >= answer->second.facts.size()) continue;
        const FileFacts& file = answer->second.facts[which];
        if (!file.index.empty()) comparison.indexes[file.index].insert(id);
        if (file.use != FileUse::checkpoint) continue;
        comparison.places[place_of(state.nodes.at(id), {file})].insert(id);
    }
    return comparison;
}

void add_differences(const State& state, const FilesNeed& need, const JobFiles& files,
                     Reasons& reasons) {
    for (std::size_t i = 0; i < need.check.files.size(); ++i) {
        const FileWanted& file = need.check.files[i];
        const Comparison found = compare(state, need, files, i);
        if (found.indexes.size() > 1) {
            reasons.push_back(about_files(format("{} {} differs between {}", to_string(file.use),
                                                 file.path, listed(found.indexes, true)),
                                          "copy it from one to the other"));
        }
        if (found.places.size() > 1) {
            reasons.push_back(about_files(
                format("{} {} is not one directory on {}, as was measured", to_string(file.use),
                       file.path, listed(found.places, false)),
                "mount one file system there, or ask for no more devices than one node has"));
        }
    }
}

// Nodes by their `value`.
template <typename Value>
Groups grouped(const State& state, const JobFiles& files, Value value) {
    Groups groups;
    for (const auto& [id, node] : files.nodes)
        groups[value(state.nodes.at(id))].insert(id);
    return groups;
}

void add_unreachable(const State& state, const JobFiles& files, Reasons& reasons) {
    if (grouped(state, files, reach_of).size() < 2) return;
    for (const auto& [id, verdict] : files.nodes) {
        const Node& node = state.nodes.at(id);
        if (!announces_loopback(node)) continue;
        reasons.push_back(
            {format("node {} announces {}, which ranks on other machines cannot reach", id,
                    node.inventory.data_address),
             "start its worker with --data-address and its address in their network"});
    }
}

// Groups the nodes without declared roots by machine.
void add_scattered(const State& state, const FilesNeed& need, const JobFiles& files,
                   Reasons& reasons) {
    if (need.default_checkpoints.empty()) return;
    Groups machines = grouped(state, files, [](const Node& node) {
        return declares_roots(node) ? "" : "of " + node.session.machine;
    });
    machines.erase("");
    if (machines.size() < 2) return;
    reasons.push_back(about_files(
        format("the job names no checkpoint.dir, and the default, {}, is another directory on each "
               "of {}",
               need.default_checkpoints, listed(machines, false)),
        "name one on a file system that they share, or ask for no more devices than one machine "
        "has"));
}

void add_undeclared(const State& state, const JobFiles& files, Reasons& reasons) {
    std::set<NodeId> undeclared;
    for (const auto& [id, node] : files.nodes) {
        if (!declares_roots(state.nodes.at(id))) undeclared.insert(id);
    }
    if (undeclared.empty() || undeclared.size() == files.nodes.size()) return;
    reasons.push_back(about_files(format("{} declare{} no roots and others do",
                                         names_of(undeclared), undeclared.size() == 1 ? "s" : ""),
                                  "start the worker with --root as theirs"));
}

// The newest checkpoint that any attempt of the job has reported; empty: none.
std::string newest_reported(const State& state, const JobId& id) {
    const std::vector<Epoch>& epochs = epochs_of(state, id);
    for (auto epoch = epochs.rbegin(); epoch != epochs.rend(); ++epoch) {
        const std::string& path = state.attempts.at(*epoch).checkpoint_path;
        if (!path.empty()) return path;
    }
    return "";
}

}  // namespace

const std::string& checkpoint_parent(const State& state, const Job& job) {
    const std::string& dir = job.spec.checkpoint.dir;
    return dir.empty() ? state.checkpoint_root : dir;
}

std::string checkpoints_of(const State& state, const Job& job) {
    const std::string reported = newest_reported(state, job.id);
    if (reported.empty()) return "";
    // As the job names it: below a root, each node has its own path.
    const std::string& dir = job.spec.checkpoint.dir;
    if (!dir.empty()) return dir + "/" + job.id.value;
    return std::filesystem::path(reported).parent_path().string();
}

UsableDevices devices_for(const State& state, const JobSpec& spec) {
    UsableDevices devices;
    for (const auto& [id, node] : state.nodes) {
        if (node.state == NodeState::gone) continue;
        for (const DeviceInfo& device : node.inventory.devices) {
            const std::string& wanted = spec.resources.kind;
            if (!wanted.empty() && device.kind != wanted) continue;
            ++devices.number;
            devices.largest = std::max(devices.largest, device.memory);
        }
    }
    return devices;
}

FilesNeed files_needed(const State& state, const Job& job) {
    FilesNeed need;
    need.check.files = files_of(job.spec, checkpoint_parent(state, job));
    need.check.key = key_of(need.check);
    need.copies = job.spec.checkpoint.keep + 1;
    need.parameters = parameters_of(job.spec.model);
    if (job.spec.checkpoint.dir.empty()) need.default_checkpoints = state.checkpoint_root;
    need.parameter_bytes = 4 + 2 * bytes_of(precision_of(job.spec.optimizer.moments));
    // The controller asks only nodes that declare roots about a model.
    if (!job.spec.model.from.empty() && !state.declaring.empty()) {
        need.most_parameters = most_parameters(job.spec, devices_for(state, job.spec));
    }
    return need;
}

bool declares_roots(const Node& node) {
    return node.session.up && !node.session.roots.empty();
}

bool nodes_differ(const State& state) {
    if (!state.declaring.empty()) return true;
    std::set<std::pair<std::string, std::string>> kinds;  // by machine and reach
    for (const auto& [id, node] : state.nodes) {
        if (counts(node)) kinds.emplace(node.session.machine, reach_of(node));
    }
    return kinds.size() > 1;
}

NodeFiles files_on(const FilesNeed& need, const Node& node, WallTime now) {
    if (!declares_roots(node)) {
        const bool own = !need.default_checkpoints.empty();
        return {
            .against = {},
            .waits = {},
            .place = format("undeclared {}\n{}", own ? node.session.machine : "", reach_of(node))};
    }
    const auto answer = node.session.files.find(need.check.key);
    const bool asked = answer != node.session.files.end();
    if (!asked || answer->second.answered.micros == 0) {
        const Seconds silent = asked ? now - answer->second.first_asked : Seconds{};
        if (silent <= kAnswerOverdue) return {.against = {}, .waits = "its answer", .place = {}};
        // Without the exact time, so that the same reason is recorded once.
        return {.against = about_files(format("it has not reported its copies of the job's files "
                                              "for more than {}",
                                              kAnswerOverdue),
                                       "check its file systems"),
                .waits = {},
                .place = {}};
    }
    const std::vector<FileFacts>& facts = answer->second.facts;
    NodeFiles files{.against = against(need, facts),
                    .waits = {},
                    .place = place_of(node, facts) + reach_of(node)};
    if (files.against.empty() && waits_for_measuring(node, facts)) {
        files.waits = "whether its checkpoint root is shared";
    }
    return files;
}

JobFiles job_files(const State& state, const FilesNeed& need, WallTime now) {
    JobFiles files;
    if (!nodes_differ(state)) return files;
    std::set<NodeId> awaited;
    for (const auto& [id, node] : state.nodes) {
        if (!counts(node)) continue;
        files.nodes[id] = files_on(need, node, now);
        if (!files.nodes[id].waits.empty()) awaited.insert(id);
    }
    add_against(files, files.reasons);
    add_differences(state, need, files, files.reasons);
    add_unreachable(state, files, files.reasons);
    add_scattered(state, need, files, files.reasons);
    add_undeclared(state, files, files.reasons);
    if (!awaited.empty()) {
        files.waits =
            about_files(format("waiting for {} to report on its files", names_of(awaited)),
                        "fits when they are there and the same");
    }
    return files;
}

}  // namespace rm
