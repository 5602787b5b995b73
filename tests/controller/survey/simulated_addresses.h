#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/survey/survey_core.h"

namespace rm::test {

// Nodes with interfaces in several networks, whose probes a survey core runs in virtual time.
class SimulatedAddresses {
public:
    struct Network {
        std::string name;
        std::vector<double> rates;  // Gbit/s of each node's interface in it; 0: it has none
    };
    using Call = std::pair<int, std::string>;  // the peer, the address that it calls

    // A node offers an address in each network that it is in, and has the first one now.
    explicit SimulatedAddresses(std::vector<Network> networks,
                                SurveyOptions options = {.automatic = false})
        : core(std::move(options), {}, 0), networks_(std::move(networks)) {
        for (int node = 0; node < static_cast<int>(networks_.front().rates.size()); ++node)
            nodes.push_back(node_of(node));
    }

    static std::string address(int network, int node) {
        return format("10.{}.{}.{}", network, node / 200, node % 200 + 1);
    }
    // Runs one; the nodes keep their addresses.
    void survey() {
        core.set_nodes(nodes, now);
        ASSERT_TRUE(core.request("request", now).ok());
        choices.clear();
        tries.clear();
        links.clear();
        ended_ = in_links_ = false;
        trying = {};
        start_ = now.mono;
        take(core.tick(now));
        while (!ended_) {
            if (waiting_.empty()) {
                now.mono = core.due();
                take(core.tick(now));
            } else {
                answer(std::exchange(waiting_, {}));
            }
        }
    }
    // As the controller does with what a survey has chosen.
    void accept_choices() {
        const std::map<std::string, std::string> to = moved();
        for (SurveyNode& node : nodes) {
            const auto chosen = to.find(node.id.value);
            if (chosen != to.end()) node.address = chosen->second;
        }
    }
    std::map<std::string, std::string> moved() const {
        std::map<std::string, std::string> to;
        for (const AddressChoice& choice : choices)
            to[choice.node.value] = choice.to;
        return to;
    }
    const LinkState& link(int from, int to) const {
        return core.book().links.at({nodes.at(usize(from)).id, nodes.at(usize(to)).id});
    }

    SurveyTime now{{1'750'000'000'000'000}, {1'000'000'000}};
    SurveyCore core;
    std::vector<SurveyNode> nodes;
    std::set<Call> cut;        // nothing arrives
    std::map<Call, int> lost;  // so many of the next ones do not arrive
    std::set<int> silent;      // peers that never report
    std::set<int> isolated;    // peers that reach no node
    // From the last survey:
    std::vector<AddressChoice> choices;
    std::vector<Call> tries;  // of its first part
    std::vector<Call> links;
    Seconds trying;  // while tries ran
    Seconds trying_with_pauses;

private:
    SurveyNode node_of(int node) const {
        SurveyNode made{.id = {format("n{}", node)}, .address = {}, .probe_port = 7080};
        for (std::size_t i = 0; i < networks_.size(); ++i) {
            if (networks_[i].rates[usize(node)] > 0)
                made.candidates.push_back({address(static_cast<int>(i), node), networks_[i].name});
        }
        made.address = made.candidates.front().address;
        return made;
    }
    static int index(const SurveyNode& node) { return std::stoi(node.id.value.substr(1)); }
    void take(const SurveyOutputs& out) {
        choices.insert(choices.end(), out.choices.begin(), out.choices.end());
        waiting_.insert(waiting_.end(), out.commands.begin(), out.commands.end());
        ended_ |= out.finished.has_value();
    }

    std::optional<double> rate(int from, int to, const std::string& at) {
        const Call call{from, at};
        (in_links_ ? links : tries).push_back(call);
        if (lost[call] > 0) return --lost[call], std::nullopt;
        if (cut.contains(call) || isolated.contains(from)) return std::nullopt;
        for (std::size_t i = 0; i < networks_.size(); ++i) {
            if (address(static_cast<int>(i), to) != at) continue;
            const auto& rates = networks_[i].rates;
            const double least = std::min(rates[usize(from)], rates[usize(to)]);
            return least > 0 ? std::optional(least) : std::nullopt;
        }
        return std::nullopt;
    }
    ProbeReport report_of(const ProbeCommand& command) {
        ProbeReport report{.id = command.id, .error = {}, .latency = {1e-4}, .jitter = {1e-6}};
        if (command.kind == ProbeKind::node) return report;
        const auto found = rate(index(command.from), index(command.to), command.to.address);
        if (!found) {
            report.error = "no answer within 2 s";
        } else {
            report.samples.push_back({.streams = command.streams, .rate = {*found}});
        }
        return report;
    }
    // A probe without an answer takes two seconds.
    void answer(const std::vector<ProbeCommand>& commands) {
        if (commands.front().kind == ProbeKind::node) {
            in_links_ = true;
            trying_with_pauses = now.mono - start_;
        }
        std::vector<ProbeReport> reports;
        double longest = 0.1;
        for (const ProbeCommand& command : commands) {
            reports.push_back(report_of(command));
            longest =
                std::max(longest, reports.back().error.empty() ? command.each.value + 0.1 : 2.1);
        }
        now.mono.nanos += static_cast<std::int64_t>(longest * 1e9);
        if (!in_links_) trying += Seconds{longest};
        for (std::size_t i = 0; i < commands.size(); ++i) {
            if (!silent.contains(index(commands[i].from)))
                take(core.take(commands[i].from.id, reports[i], now));
        }
    }

    std::vector<Network> networks_;
    std::vector<ProbeCommand> waiting_;
    MonoTime start_;
    bool ended_ = false;
    bool in_links_ = false;  // they begin with the nodes alone
};

}  // namespace rm::test
