#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/survey/survey_core.h"
#include "tests/controller/survey/planted.h"

namespace rm::test {

// A survey core whose probes run on a planted network, in virtual time.
class SimulatedSurvey {
public:
    SimulatedSurvey(PlantedNetwork planted, SurveyOptions options = {.automatic = false})
        : planted_(std::move(planted)), core(std::move(options), {}, 0) {
        for (int node = 0; node < planted_.size(); ++node) {
            nodes.push_back({.id = id(node), .address = "10.0.0.1", .probe_port = 7080});
        }
        core.set_nodes(nodes, now);
    }

    NodeId id(int node) const { return planted_.graph.nodes[static_cast<std::size_t>(node)].id; }
    void advance(double seconds) {
        now.mono.nanos += static_cast<std::int64_t>(seconds * 1e9);
        now.wall = now.wall + Seconds{seconds};
    }
    // Requests a survey and runs it to its end; nothing when it takes longer than `limit`.
    std::optional<SurveyRecord> survey(Seconds limit = Seconds{3600}) {
        EXPECT_TRUE(core.request("request", now).ok());
        return run(limit);
    }
    // Runs to the end of the next survey.
    std::optional<SurveyRecord> run(Seconds limit) {
        const MonoTime start = now.mono;
        std::vector<ProbeCommand> commands = taken(core.tick(now));
        while (!finished && now.mono - start < limit) {
            if (commands.empty()) {
                const MonoTime due = core.due();
                if (due.nanos == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
                advance(std::max(1e-9, (due - now.mono).value));
                commands = taken(core.tick(now));
            } else {
                commands = answer(commands);
            }
        }
        return std::exchange(finished, std::nullopt);
    }

    PlantedNetwork planted_;
    SurveyTime now{{1'750'000'000'000'000}, {1'000'000'000}};
    SurveyCore core;
    std::vector<SurveyNode> nodes;
    std::optional<SurveyRecord> finished;
    std::vector<LinkDrift> drifts;
    std::vector<LinkSample> samples;
    Seconds probing;  // in which any probe ran
    NodeId silent;    // never answers

private:
    std::vector<ProbeCommand> taken(const SurveyOutputs& outputs) {
        if (outputs.finished) finished = outputs.finished;
        drifts.insert(drifts.end(), outputs.drifts.begin(), outputs.drifts.end());
        samples.insert(samples.end(), outputs.samples.begin(), outputs.samples.end());
        return outputs.commands;
    }
    int index(const NodeId& node) const { return std::stoi(node.value.substr(1)); }

    // Probes that run at once share the network; together they take as long as the longest samples
    // and their set-up.
    std::vector<ProbeCommand> answer(const std::vector<ProbeCommand>& commands) {
        std::vector<NodePair> flows;
        double longest = 0.1;
        for (const ProbeCommand& command : commands) {
            if (command.kind == ProbeKind::link)
                flows.push_back({index(command.from.id), index(command.to.id)});
            longest = std::max(longest, command.each.value + 0.05);
        }
        const std::vector<double> rates = planted_.rates(flows);
        advance(longest);
        probing += Seconds{longest};
        std::vector<ProbeCommand> next;
        std::size_t flow = 0;
        for (const ProbeCommand& command : commands) {
            ProbeReport report{.id = command.id, .latency = {1e-4}, .jitter = {1e-6}};
            if (command.kind == ProbeKind::link) {
                report.samples.push_back({.streams = command.streams, .rate = {rates[flow++]}});
            }
            if (command.from.id == silent) continue;
            for (ProbeCommand& more : take(command.from.id, report))
                next.push_back(std::move(more));
        }
        return next;
    }
    std::vector<ProbeCommand> take(const NodeId& from, const ProbeReport& report) {
        return taken(core.take(from, report, now));
    }
};

}  // namespace rm::test
