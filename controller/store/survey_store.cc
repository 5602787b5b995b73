#include "controller/store/survey_store.h"

#include "controller/store/table.h"

namespace rm {

using LinkRow = std::pair<LinkEnds, LinkState>;
using GroupRow = std::pair<std::size_t, LinkGroup>;  // by position
using NodeRow = std::pair<NodeId, SurveyedNode>;
using InsideRow = std::pair<NodeId, InsideSample>;
using BridgeRow = std::pair<NodeId, BridgeSample>;

void columns(Like<LinkRow> auto& row, auto&& visit) {
    auto& [ends, link] = row;
    visit("from_node", ends.first);
    visit("to_node", ends.second);
    visit("flow", link.flow);
    visit("bandwidth", link.bandwidth);
    visit("latency", link.latency);
    visit("jitter", link.jitter);
    visit("loss", link.loss);
    visit("measured", link.measured);
    visit("alone", link.alone);
    visit("baseline", link.baseline);
    visit("degraded", link.degraded);
    visit("good", link.good);
}

void columns(Like<GroupRow> auto& row, auto&& visit) {
    auto& [position, group] = row;
    visit("position", position);
    visit("nodes", group.nodes);
    visit("up", group.up);
    visit("down", group.down);
}

void columns(Like<NodeRow> auto& row, auto&& visit) {
    auto& [id, node] = row;
    visit("id", id);
    visit("egress", node.egress);
    visit("ingress", node.ingress);
    visit("devices", node.num_devices);
}

void columns(Like<InsideRow> auto& row, auto&& visit) {
    auto& [node, sample] = row;
    visit("node", node);
    visit("from_device", sample.from);
    visit("to_device", sample.to);
    visit("rate", sample.rate);
    visit("latency", sample.latency);
    visit("bytes", sample.bytes);
    visit("seconds", sample.seconds);
}

void columns(Like<BridgeRow> auto& row, auto&& visit) {
    auto& [node, bridge] = row;
    visit("node", node);
    visit("name", bridge.name);
    visit("devices", bridge.devices);
    visit("up", bridge.up);
    visit("down", bridge.down);
}

void columns(Like<KeptSample> auto& sample, auto&& visit) {
    auto& bandwidth = sample.bandwidth;
    visit("survey", sample.survey);
    visit("time", sample.time);
    visit("from_node", sample.ends.first);
    visit("to_node", sample.ends.second);
    visit("measured_by", sample.measured_by);
    visit("beside", sample.beside);
    visit("streams", bandwidth.streams);
    visit("rate", bandwidth.rate);
    visit("bytes", bandwidth.bytes);
    visit("seconds", bandwidth.seconds);
    visit("loss", bandwidth.loss);
    visit("latency", sample.latency);
    visit("jitter", sample.jitter);
}

void columns(Like<SurveyRecord> auto& survey, auto&& visit) {
    visit("number", survey.number);
    visit("reason", survey.reason);
    visit("started", survey.started);
    visit("ended", survey.ended);
    visit("nodes", survey.num_nodes);
    visit("links", survey.num_links);
    visit("failed", survey.num_failed);
    visit("errors", survey.errors);
}

namespace {

Status put_groups(Database& database, const LinkBook& book) {
    RM_RETURN_IF_ERROR(database.execute("DELETE FROM link_groups"));
    std::vector<GroupRow> rows;
    for (const LinkGroup& group : book.groups)
        rows.emplace_back(rows.size(), group);
    return write_rows(database, "link_groups", rows);
}

Status put_nodes(Database& database, const LinkBook& book) {
    RM_TRY(Statement clear, database.prepare("DELETE FROM inside_samples WHERE node = ?"));
    RM_TRY(Statement clear_bridges, database.prepare("DELETE FROM host_bridges WHERE node = ?"));
    std::vector<InsideRow> insides;
    std::vector<BridgeRow> bridges;
    for (const auto& [id, node] : book.nodes) {
        RM_RETURN_IF_ERROR(clear.bind_all(id).run());
        RM_RETURN_IF_ERROR(clear_bridges.bind_all(id).run());
        for (const InsideSample& sample : node.inside)
            insides.emplace_back(id, sample);
        for (const BridgeSample& bridge : node.bridges)
            bridges.emplace_back(id, bridge);
    }
    RM_RETURN_IF_ERROR(write_rows(database, "surveyed_nodes",
                                  std::vector<NodeRow>(book.nodes.begin(), book.nodes.end())));
    RM_RETURN_IF_ERROR(write_rows(database, "host_bridges", bridges));
    return write_rows(database, "inside_samples", insides);
}

}  // namespace

Result<std::unique_ptr<SurveyStore>> SurveyStore::open(const std::string& database) {
    RM_TRY(Database opened, Database::open(database, Access::write));
    return std::unique_ptr<SurveyStore>(new SurveyStore(std::move(opened)));
}

Result<LinkBook> SurveyStore::load() {
    const std::lock_guard lock(mutex_);
    LinkBook book;
    RM_TRY(const auto links, read_rows<LinkRow>(database_, "FROM links"));
    book.links.insert(links.begin(), links.end());
    RM_TRY(const auto groups, read_rows<GroupRow>(database_, "FROM link_groups ORDER BY position"));
    for (const auto& [position, group] : groups)
        book.groups.push_back(group);
    RM_TRY(const auto nodes, read_rows<NodeRow>(database_, "FROM surveyed_nodes"));
    book.nodes.insert(nodes.begin(), nodes.end());
    RM_TRY(const auto insides, read_rows<InsideRow>(database_, "FROM inside_samples"));
    for (const auto& [node, sample] : insides)
        book.nodes[node].inside.push_back(sample);
    RM_TRY(const auto bridges, read_rows<BridgeRow>(database_, "FROM host_bridges"));
    for (const auto& [node, bridge] : bridges)
        book.nodes[node].bridges.push_back(bridge);
    return book;
}

Result<std::int64_t> SurveyStore::last_survey() {
    const std::lock_guard lock(mutex_);
    RM_TRY(Statement select, database_.prepare("SELECT coalesce(max(number), 0) FROM surveys"));
    RM_TRY(const bool found, select.step());
    return found ? select.whole(0) : 0;
}

Status SurveyStore::add(std::span<const LinkSample> samples) {
    std::vector<KeptSample> rows;
    for (const LinkSample& sample : samples) {
        for (const BandwidthSample& bandwidth : sample.report.samples) {
            rows.push_back({.survey = sample.survey,
                            .time = sample.time,
                            .ends = sample.ends,
                            // The sender reports what its peer counted.
                            .measured_by = sample.ends.first,
                            .beside = sample.beside,
                            .bandwidth = bandwidth,
                            .latency = sample.report.latency,
                            .jitter = sample.report.jitter});
        }
    }
    const std::lock_guard lock(mutex_);
    return database_.transaction([&] { return write_rows(database_, "link_samples", rows); });
}

Status SurveyStore::finish(const SurveyRecord& survey, const LinkBook& book) {
    const std::lock_guard lock(mutex_);
    return database_.transaction([&]() -> Status {
        RM_RETURN_IF_ERROR(write_rows(database_, "surveys", std::vector{survey}));
        RM_TRY(Statement prune, database_.prepare("DELETE FROM link_samples WHERE survey <= ?"));
        RM_RETURN_IF_ERROR(prune.bind_all(survey.number - kKeptSurveys).run());
        RM_RETURN_IF_ERROR(write_rows(database_, "links",
                                      std::vector<LinkRow>(book.links.begin(), book.links.end())));
        RM_RETURN_IF_ERROR(put_groups(database_, book));
        return put_nodes(database_, book);
    });
}

Result<std::vector<KeptSample>> SurveyStore::history(const LinkEnds& ends, int limit) {
    const std::lock_guard lock(mutex_);
    RM_TRY(Statement select,
           database_.prepare(format("SELECT {} FROM link_samples WHERE from_node = ? AND "
                                    "to_node = ? ORDER BY id DESC LIMIT ?",
                                    column_names<KeptSample>().names)));
    return read_rows<KeptSample>(select.bind_all(ends.first, ends.second, limit));
}

}  // namespace rm
