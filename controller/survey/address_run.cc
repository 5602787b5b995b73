#include "controller/survey/address_run.h"

#include <algorithm>

#include "base/median.h"

namespace rm {
namespace {

Round turned(const Round& round) {
    Round back;
    for (const auto& [a, b] : round)
        back.push_back({b, a});
    return back;
}

// Workers that share a loopback interface have the same interfaces: one stands for all of them.
std::vector<int> hosts_of(const std::vector<SurveyNode>& nodes) {
    std::map<std::string, int> first;
    std::vector<int> hosts;
    for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
        const std::string& network = nodes[usize(node)].network;
        hosts.push_back(network.empty() ? node : first.emplace(network, node).first->second);
    }
    return hosts;
}

}  // namespace

AddressRun::AddressRun(std::vector<SurveyNode> nodes, AddressLimits limits, std::int64_t survey)
    : nodes_(std::move(nodes)), hosts_(hosts_of(nodes_)), limits_(limits) {
    for (const SurveyNode& node : nodes_)
        most_addresses_ = std::max(most_addresses_, node.candidates.size());
    if (most_addresses_ < 2 || nodes_.size() < 2) return;
    steps_of_round_ = usize(limits_.tries) * most_addresses_;
    std::vector<Round> all = tournament(static_cast<int>(nodes_.size()));
    std::rotate(all.begin(), all.begin() + survey % std::ssize(all), all.end());
    for (const Round& round : sampled(all, limits_.peers)) {
        add(round);
        add(turned(round));
    }
}

// Only pairs that say something: the second has a choice, and is on another machine.
void AddressRun::add(const Round& round) {
    Round kept;
    for (const auto& [from, to] : round) {
        if (has_choice(to) && hosts_[usize(from)] != hosts_[usize(to)]) kept.push_back({from, to});
    }
    if (!kept.empty()) rounds_.push_back(std::move(kept));
}

SurveyStep AddressRun::step_here() const {
    SurveyStep step;
    for (const auto& [from, to] : rounds_[round_]) {
        const auto& candidates = nodes_[usize(to)].candidates;
        if (address_ >= candidates.size()) continue;
        // An address that one peer has refuted would cost the others a call in vain.
        if (is_refuted(hosts_[usize(to)], candidates[address_])) continue;
        step.push_back({.from = from,
                        .to = to,
                        .streams = limits_.streams,
                        .each = limits_.each,
                        .address = static_cast<int>(address_)});
    }
    return step;
}

void AddressRun::move_on() {
    if (++address_ < most_addresses_) return;
    address_ = 0;
    if (++try_ < limits_.tries) return;
    try_ = 0;
    ++round_;
}

std::optional<SurveyStep> AddressRun::next() {
    while (round_ < rounds_.size()) {
        SurveyStep step = step_here();
        if (!step.empty()) return step;
        move_on();
    }
    close_networks();
    return std::nullopt;
}

void AddressRun::record(const SurveyStep& step, const std::vector<ProbeReport>& reports) {
    for (std::size_t i = 0; i < step.size(); ++i) {
        const ProbeReport& report = reports[i];
        if (report.id == 0) continue;
        const ProbeTask& task = step[i];
        const DataAddress& tried = nodes_[usize(task.to)].candidates[usize(task.address)];
        Tries& tries = tries_[hosts_[usize(task.to)]][task.from][tried.address];
        ++tries.made;
        if (!report.error.empty() || report.samples.empty()) continue;
        ++tries.reached;
        tries.best = std::max(tries.best, report.samples.back().rate.value);
    }
    ++done_;
    move_on();
}

bool AddressRun::is_refuted(const ByAddress& tries, const std::string& address) const {
    const auto here = tries.find(address);
    const bool failed =
        here != tries.end() && here->second.reached == 0 && here->second.made >= limits_.tries;
    return failed && std::any_of(tries.begin(), tries.end(), [&](const auto& other) {
               return other.second.reached >= limits_.tries;
           });
}

bool AddressRun::is_refuted(int host, const DataAddress& address) const {
    if (closed_.contains(address.network)) return true;
    const auto known = tries_.find(host);
    return known != tries_.end() &&
           std::any_of(known->second.begin(), known->second.end(), [&](const auto& of_peer) {
               return is_refuted(of_peer.second, address.address);
           });
}

// Among many nodes a peer tries a few: what it finds of a network holds for all that are in it.
void AddressRun::close_networks() {
    std::set<std::pair<std::string, int>> inside;  // network, peer
    std::set<std::pair<std::string, int>> refuting;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        for (const DataAddress& candidate : nodes_[node].candidates) {
            for (const auto& [peer, tries] : tries_[hosts_[node]]) {
                const auto here = tries.find(candidate.address);
                const bool reached = here != tries.end() && here->second.reached > 0;
                if (reached) inside.insert({candidate.network, peer});
                if (is_refuted(tries, candidate.address))
                    refuting.insert({candidate.network, peer});
            }
        }
    }
    for (const auto& outsider : refuting) {
        if (!outsider.first.empty() && !inside.contains(outsider)) closed_.insert(outsider.first);
    }
}

std::optional<double> AddressRun::rate(int host, const std::string& address) const {
    std::vector<double> rates;
    const auto known = tries_.find(host);
    if (known == tries_.end()) return std::nullopt;
    for (const auto& [peer, tries] : known->second) {
        const auto here = tries.find(address);
        if (here == tries.end()) continue;
        const bool reaches_host = std::any_of(
            tries.begin(), tries.end(), [](const auto& other) { return other.second.reached > 0; });
        if (here->second.reached > 0) {
            rates.push_back(here->second.best);
        } else if (reaches_host) {
            return std::nullopt;
        }
    }
    return rates.empty() ? std::nullopt : std::optional(median(std::move(rates)));
}

std::optional<AddressChoice> AddressRun::choice(int node) const {
    const SurveyNode& of = nodes_[usize(node)];
    const int host = hosts_[usize(node)];
    AddressChoice best{.node = of.id, .from = of.address};
    bool is_lost = false;
    std::optional<double> present;
    for (const DataAddress& candidate : of.candidates) {
        const bool refuted = is_refuted(host, candidate);
        const auto found = refuted ? std::nullopt : rate(host, candidate.address);
        if (candidate.address == of.address) {
            is_lost = refuted;
            present = found;
        } else if (found && *found > best.now.value) {
            best.to = candidate.address;
            best.now = {*found};
        }
    }
    const bool is_faster = present && best.now.value >= limits_.clearly * *present;
    if (best.to.empty() || !(is_lost || is_faster)) return std::nullopt;
    best.before = {present.value_or(0)};
    return best;
}

std::vector<AddressChoice> AddressRun::choices() const {
    std::vector<AddressChoice> made;
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
        if (!has_choice(node)) continue;
        if (auto one = choice(node)) made.push_back(std::move(*one));
    }
    return made;
}

}  // namespace rm
