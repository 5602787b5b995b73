#include "cli/show/link_tables.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>

#include "cli/show/job_text.h"
#include "cli/show/text.h"

namespace rm {
namespace {

struct Shade {
    double from;  // part of the fastest link
    const char* text;
    Color color;
};
constexpr std::array<Shade, 5> kShades = {{{0.85, "██", Color::green},
                                           {0.5, "▓▓", Color::green},
                                           {0.25, "▒▒", Color::yellow},
                                           {0.1, "░░", Color::yellow},
                                           {0, "··", Color::red}}};
constexpr const char* kDegraded = "!!";
constexpr const char* kSelf = "  ";

using Ends = std::pair<std::string, std::string>;
std::map<Ends, const pb::NodeLink*> by_ends(const pb::LinksReply& links) {
    std::map<Ends, const pb::NodeLink*> found;
    for (const pb::NodeLink& link : links.links())
        found[{link.from(), link.to()}] = &link;
    return found;
}

double fastest(const pb::LinksReply& links) {
    double most = 0;
    for (const pb::NodeLink& link : links.links())
        most = std::max(most, link.bandwidth());
    return most;
}

const Shade& shade_of(double part) {
    return *std::find_if(kShades.begin(), kShades.end(),
                         [&](const Shade& shade) { return part >= shade.from; });
}

std::string padded(const std::string& text, std::size_t width) {
    return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string fixed(const char* pattern, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), pattern, value);
    return text.data();
}

std::string map_cell(const Output& out, const pb::NodeLink* link, double most) {
    if (link == nullptr) return kSelf;
    if (link->has_degraded()) return out.paint(kDegraded, Color::red);
    const Shade& shade = shade_of(most > 0 ? link->bandwidth() / most : 0);
    return out.paint(shade.text, shade.color);
}

void print_legend(const Output& out, double most, bool degraded) {
    out.stream << "      ";
    for (const Shade& shade : kShades) {
        const std::string from =
            shade.from > 0 ? "from " + short_rate(shade.from * most) : std::string("less");
        out.stream << out.paint(shade.text, shade.color) << ' ' << from << "  ";
    }
    if (degraded) out.stream << out.paint(kDegraded, Color::red) << " degraded";
    out.stream << '\n';
}

std::string latency_text(double seconds) {
    return seconds < 1e-3 ? fixed("%.0f us", seconds * 1e6) : fixed("%.1f ms", seconds * 1e3);
}

NodeInterior interior_of(const pb::SurveyedNode& node) {
    const auto size = usize(node.devices());
    const Link unmeasured{.bandwidth = {1000}, .flow = {}, .latency = {}};
    NodeInterior interior{.num_devices = node.devices(),
                          .pairs = std::vector<Link>(size * size, unmeasured),
                          .bridges = {}};
    for (const pb::DeviceLink& link : node.inside()) {
        if (link.from() < 0 || link.to() < 0) continue;
        interior.pairs.at(usize(link.from()) * size + usize(link.to())) = {
            {link.bandwidth()}, {}, {link.latency()}};
    }
    for (const pb::DeviceBridge& bridge : node.bridges()) {
        interior.bridges.push_back({bridge.name(),
                                    {bridge.devices().begin(), bridge.devices().end()},
                                    {bridge.up()},
                                    {bridge.down()}});
    }
    return interior;
}

}  // namespace

std::string rate_text(double rate) {
    return rate < 1 ? fixed("%.1f Mbit/s", rate * 1e3) : fixed("%.1f Gbit/s", rate);
}

std::string short_rate(double rate) {
    if (rate < 1) return fixed("%.0fM", rate * 1e3);
    return rate < 10 ? fixed("%.1fG", rate) : fixed("%.0fG", rate);
}

void print_heat_map(const Output& out, const pb::LinksReply& links) {
    const double most = fastest(links);
    const auto found = by_ends(links);
    bool degraded = false;
    out.stream << "     ";
    for (int to = 0; to < links.nodes_size(); ++to)
        out.stream << padded(std::to_string(to), 3);
    out.stream << "  receives\n";
    for (int from = 0; from < links.nodes_size(); ++from) {
        out.stream << padded(std::to_string(from), 4) << ' ';
        for (int to = 0; to < links.nodes_size(); ++to) {
            const auto link = found.find({links.nodes(from).id(), links.nodes(to).id()});
            const pb::NodeLink* known = link == found.end() ? nullptr : link->second;
            degraded |= known != nullptr && known->has_degraded();
            out.stream << ' ' << map_cell(out, known, most);
        }
        out.stream << (from == 0 ? "  (rows send)\n" : "\n");
    }
    print_legend(out, most, degraded);
}

Table rate_matrix(const pb::LinksReply& links) {
    const auto found = by_ends(links);
    TableOf table(links.nodes());
    table.left("FROM \\ TO", &pb::SurveyedNode::id);
    for (const pb::SurveyedNode& to : links.nodes()) {
        table.right(to.id(), [&](const pb::SurveyedNode& from) -> Cell {
            const auto link = found.find({from.id(), to.id()});
            if (link == found.end()) return "";
            return {short_rate(link->second->bandwidth()),
                    link->second->has_degraded() ? Color::red : Color::none};
        });
    }
    return table.done();
}

Table surveyed_nodes_table(const pb::LinksReply& links) {
    Table table({{"", Align::right},
                 {"NODE"},
                 {"HOST"},
                 {"GROUP", Align::right},
                 {"SENDS", Align::right},
                 {"RECEIVES", Align::right}});
    for (int i = 0; i < links.nodes_size(); ++i) {
        const pb::SurveyedNode& node = links.nodes(i);
        table.add({std::to_string(i), node.id(), node.hostname(), std::to_string(node.group()),
                   rate_text(node.egress()), rate_text(node.ingress())});
    }
    return table;
}

void print_cables(const Output& out, const pb::LinksReply& links) {
    for (const pb::SharedCable& cable : links.cables())
        out.stream << "shared  " << printable(cable.name()) << ": " << rate_text(cable.bandwidth())
                   << '\n';
}

void print_degraded(const Output& out, const pb::LinksReply& links, WallTime now) {
    for (const pb::NodeLink& link : links.links()) {
        if (!link.has_degraded()) continue;
        out.stream << out.paint("degraded", Color::red) << "  " << printable(link.from()) << " to "
                   << printable(link.to()) << ": " << rate_text(link.bandwidth()) << " instead of "
                   << rate_text(link.baseline()) << ", seen "
                   << span_text(now - from_proto(link.degraded())) << " ago\n";
    }
}

std::string survey_line(const pb::SurveyState& survey) {
    std::string line;
    if (survey.last() != 0 && survey.nodes() != 0) {
        line = format("survey {} measured {} of {} in {}", survey.last(),
                      counted(survey.measured_links(), "link"), counted(survey.nodes(), "node"),
                      Seconds{survey.seconds()});
        if (survey.failed_probes() > 0) {
            line += format("; {} failed", counted(survey.failed_probes(), "probe"));
            for (const std::string& error : survey.errors())
                line += "\n  " + printable(error);
        }
    } else if (survey.last() != 0) {
        line = format("as of survey {}", survey.last());
    } else {
        line = "nothing has been surveyed yet";
    }
    if (survey.running() != 0) {
        line += format("\nsurvey {} runs: step {} of {}{}", survey.running(), survey.steps_done(),
                       survey.steps_known(),
                       survey.waits_for_budget() ? ", slowly, as jobs run there" : "");
    } else if (survey.pending() && survey.last() == 0) {
        line += "; a survey is about to start";
    }
    return line;
}

Table link_history_table(const pb::LinkHistoryReply& history) {
    TableOf table(history.samples());
    table.left("TIME", [](auto& sample) { return time_text(sample.time()); });
    table.right("SURVEY", &pb::LinkSample::survey);
    table.right("STREAMS", &pb::LinkSample::streams);
    table.right("RATE", [](auto& sample) { return rate_text(sample.bandwidth()); });
    table.right("LATENCY", [](auto& sample) { return latency_text(sample.latency()); });
    table.right("JITTER", [](auto& sample) { return latency_text(sample.jitter()); });
    table.right("LOSS", [](auto& sample) { return fixed("%.2f%%", sample.loss() * 100); });
    table.right("MOVED", [](auto& sample) { return to_string(Bytes{sample.bytes()}); });
    table.right("BESIDE", &pb::LinkSample::beside);
    table.left("MEASURED-BY", &pb::LinkSample::measured_by);
    return table.done();
}

LinkGraph graph_of(const pb::LinksReply& links) {
    LinkGraph graph;
    std::map<std::string, int> index;
    for (const pb::SurveyedNode& node : links.nodes()) {
        index[node.id()] = graph.num_nodes();
        graph.interiors.push_back(interior_of(node));
        graph.nodes.push_back({.id = {node.id()},
                               .interior = graph.num_nodes(),
                               .egress = {node.egress()},
                               .ingress = {node.ingress()}});
    }
    graph.network.resize(graph.nodes.size() * graph.nodes.size());
    for (const pb::NodeLink& link : links.links()) {
        graph.between(index.at(link.from()), index.at(link.to())) = {
            {link.bandwidth()}, {link.flow()}, {link.latency()}};
    }
    for (const pb::SharedCable& cable : links.cables()) {
        Trunk& trunk = graph.trunks.emplace_back();
        trunk.name = cable.name();
        trunk.bandwidth = {cable.bandwidth()};
        for (const std::string& node : cable.from())
            trunk.from.push_back(index.at(node));
        for (const std::string& node : cable.to())
            trunk.to.push_back(index.at(node));
    }
    return graph;
}

}  // namespace rm
