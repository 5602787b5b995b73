#include "controller/store/survey_store.h"

#include "controller/store/table.h"

namespace rm {
namespace {

struct LinkRow {
    LinkEnds ends;
    LinkState state;
};
struct GroupRow {
    std::size_t position = 0;
    LinkGroup group;
};
struct NodeRow {
    NodeId id;
    SurveyedNode node;
};
struct InsideRow {
    NodeId node;
    InsideSample sample;
};

void columns(Like<LinkRow> auto& row, auto&& visit) {
    auto& link = row.state;
    visit("from_node", row.ends.first);
    visit("to_node", row.ends.second);
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
    visit("position", row.position);
    visit("nodes", row.group.nodes);
    visit("up", row.group.up);
    visit("down", row.group.down);
}

void columns(Like<NodeRow> auto& row, auto&& visit) {
    visit("id", row.id);
    visit("egress", row.node.egress);
    visit("ingress", row.node.ingress);
    visit("devices", row.node.num_devices);
}

void columns(Like<InsideRow> auto& row, auto&& visit) {
    auto& sample = row.sample;
    visit("node", row.node);
    visit("from_device", sample.from);
    visit("to_device", sample.to);
    visit("rate", sample.rate);
    visit("latency", sample.latency);
    visit("bytes", sample.bytes);
    visit("seconds", sample.seconds);
}

Status put_links(Database& database, const LinkBook& book) {
    std::vector<LinkRow> rows;
    for (const auto& [ends, link] : book.links)
        rows.push_back({ends, link});
    return write_rows(database, "links", rows);
}

Status put_groups(Database& database, const LinkBook& book) {
    RM_RETURN_IF_ERROR(database.execute("DELETE FROM link_groups"));
    std::vector<GroupRow> rows;
    for (const LinkGroup& group : book.groups)
        rows.push_back({rows.size(), group});
    return write_rows(database, "link_groups", rows);
}

Status put_nodes(Database& database, const LinkBook& book) {
    RM_TRY(Statement clear, database.prepare("DELETE FROM inside_samples WHERE node = ?"));
    std::vector<NodeRow> nodes;
    std::vector<InsideRow> insides;
    for (const auto& [id, node] : book.nodes) {
        RM_RETURN_IF_ERROR(clear.bind_all(id).run());
        nodes.push_back({id, node});
        for (const InsideSample& sample : node.inside)
            insides.push_back({id, sample});
    }
    RM_RETURN_IF_ERROR(write_rows(database, "surveyed_nodes", nodes));
    return write_rows(database, "inside_samples", insides);
}

}  // namespace

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

Result<std::unique_ptr<SurveyStore>> SurveyStore::open(const std::string& database) {
    RM_TRY(Database opened, Database::open(database, Access::write));
    return std::unique_ptr<SurveyStore>(new SurveyStore(std::move(opened)));
}

Result<LinkBook> SurveyStore::load() {
    const std::lock_guard lock(mutex_);
    LinkBook book;
    RM_TRY(const auto links, read_rows<LinkRow>(database_, "FROM links"));
    for (const auto& [ends, link] : links)
        book.links[ends] = link;
    RM_TRY(const auto groups, read_rows<GroupRow>(database_, "FROM link_groups ORDER BY position"));
    for (const auto& [position, group] : groups)
        book.groups.push_back(group);
    RM_TRY(const auto nodes, read_rows<NodeRow>(database_, "FROM surveyed_nodes"));
    for (const auto& [id, node] : nodes)
        book.nodes[id] = node;
    RM_TRY(const auto insides, read_rows<InsideRow>(database_, "FROM inside_samples"));
    for (const auto& [node, sample] : insides)
        book.nodes[node].inside.push_back(sample);
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
        RM_RETURN_IF_ERROR(put_links(database_, book));
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
