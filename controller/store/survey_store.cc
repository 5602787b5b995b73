#include "controller/store/survey_store.h"

#include <charconv>

namespace rm {
namespace {

constexpr char kSeparator = '\n';

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) {
        if (!text.empty()) text += kSeparator;
        text += part;
    }
    return text;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find(kSeparator, start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

std::string text_of(const std::vector<double>& numbers) {
    std::vector<std::string> parts;
    for (const double number : numbers)
        parts.push_back(format("{}", number));
    return joined(parts);
}

std::vector<double> numbers_of(const std::string& text) {
    std::vector<double> numbers;
    for (const std::string& part : split(text)) {
        double number = 0;
        std::from_chars(part.data(), part.data() + part.size(), number);
        numbers.push_back(number);
    }
    return numbers;
}

// Calls `take` for every row.
template <typename Take>
Status for_rows(Statement& statement, const Take& take) {
    while (true) {
        RM_TRY(const bool more, statement.step());
        if (!more) return {};
        take(statement);
    }
}

Status load_links(Database& database, LinkBook& book) {
    RM_TRY(Statement select,
           database.prepare("SELECT from_node, to_node, flow, bandwidth, latency, jitter, loss, "
                            "measured, alone, baseline, degraded, good FROM links"));
    return for_rows(select, [&](const Statement& row) {
        LinkState& link = book.links[{{row.text(0)}, {row.text(1)}}];
        link.flow = {row.number(2)};
        link.bandwidth = {row.number(3)};
        link.latency = {row.number(4)};
        link.jitter = {row.number(5)};
        link.loss = row.number(6);
        link.measured = {row.whole(7)};
        link.alone = row.whole(8) != 0;
        link.baseline = {row.number(9)};
        if (row.whole(10) != 0) link.degraded = WallTime{row.whole(10)};
        link.good = numbers_of(row.text(11));
    });
}

Status load_groups(Database& database, LinkBook& book) {
    RM_TRY(Statement select,
           database.prepare("SELECT nodes, up, down FROM link_groups ORDER BY position"));
    return for_rows(select, [&](const Statement& row) {
        LinkGroup& group = book.groups.emplace_back();
        for (std::string& node : split(row.text(0)))
            group.nodes.push_back({std::move(node)});
        group.up = {row.number(1)};
        group.down = {row.number(2)};
    });
}

Status load_nodes(Database& database, LinkBook& book) {
    RM_TRY(Statement nodes,
           database.prepare("SELECT id, egress, ingress, devices FROM surveyed_nodes"));
    RM_RETURN_IF_ERROR(for_rows(nodes, [&](const Statement& row) {
        book.nodes[{row.text(0)}] = {.egress = {row.number(1)},
                                     .ingress = {row.number(2)},
                                     .num_devices = static_cast<int>(row.whole(3)),
                                     .inside = {}};
    }));
    RM_TRY(Statement inside, database.prepare("SELECT node, from_device, to_device, rate, latency, "
                                              "bytes, seconds FROM inside_samples"));
    return for_rows(inside, [&](const Statement& row) {
        book.nodes[{row.text(0)}].inside.push_back({.from = static_cast<int>(row.whole(1)),
                                                    .to = static_cast<int>(row.whole(2)),
                                                    .rate = {row.number(3)},
                                                    .latency = {row.number(4)},
                                                    .bytes = {row.whole(5)},
                                                    .seconds = {row.number(6)}});
    });
}

Status put_links(Database& database, const LinkBook& book) {
    RM_TRY(Statement put,
           database.prepare("INSERT OR REPLACE INTO links (from_node, to_node, flow, bandwidth, "
                            "latency, jitter, loss, measured, alone, baseline, degraded, good) "
                            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const auto& [ends, link] : book.links) {
        put.bind(1, ends.first.value)
            .bind(2, ends.second.value)
            .bind(3, link.flow.value)
            .bind(4, link.bandwidth.value)
            .bind(5, link.latency.value)
            .bind(6, link.jitter.value)
            .bind(7, link.loss)
            .bind(8, link.measured.micros)
            .bind(9, std::int64_t{link.alone})
            .bind(10, link.baseline.value)
            .bind(11, link.degraded.value_or(WallTime{}).micros)
            .bind(12, text_of(link.good));
        RM_RETURN_IF_ERROR(put.run());
    }
    return {};
}

Status put_groups(Database& database, const LinkBook& book) {
    RM_RETURN_IF_ERROR(database.execute("DELETE FROM link_groups"));
    RM_TRY(Statement put, database.prepare("INSERT INTO link_groups (position, nodes, up, down) "
                                           "VALUES (?, ?, ?, ?)"));
    std::int64_t position = 0;
    for (const LinkGroup& group : book.groups) {
        std::vector<std::string> nodes;
        for (const NodeId& node : group.nodes)
            nodes.push_back(node.value);
        put.bind(1, position++).bind(2, joined(nodes)).bind(3, group.up.value);
        RM_RETURN_IF_ERROR(put.bind(4, group.down.value).run());
    }
    return {};
}

Status put_inside(Database& database, const NodeId& node, const SurveyedNode& known) {
    RM_TRY(Statement clear, database.prepare("DELETE FROM inside_samples WHERE node = ?"));
    RM_RETURN_IF_ERROR(clear.bind(1, node.value).run());
    RM_TRY(Statement put, database.prepare("INSERT OR REPLACE INTO inside_samples (node, "
                                           "from_device, to_device, rate, latency, bytes, seconds) "
                                           "VALUES (?, ?, ?, ?, ?, ?, ?)"));
    for (const InsideSample& sample : known.inside) {
        put.bind(1, node.value)
            .bind(2, std::int64_t{sample.from})
            .bind(3, std::int64_t{sample.to})
            .bind(4, sample.rate.value)
            .bind(5, sample.latency.value)
            .bind(6, sample.bytes.value);
        RM_RETURN_IF_ERROR(put.bind(7, sample.seconds.value).run());
    }
    return {};
}

Status put_nodes(Database& database, const LinkBook& book) {
    RM_TRY(Statement put, database.prepare("INSERT OR REPLACE INTO surveyed_nodes (id, egress, "
                                           "ingress, devices) VALUES (?, ?, ?, ?)"));
    for (const auto& [id, node] : book.nodes) {
        put.bind(1, id.value).bind(2, node.egress.value).bind(3, node.ingress.value);
        RM_RETURN_IF_ERROR(put.bind(4, std::int64_t{node.num_devices}).run());
        RM_RETURN_IF_ERROR(put_inside(database, id, node));
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<SurveyStore>> SurveyStore::open(const std::string& database) {
    RM_TRY(Database opened, Database::open(database, Access::write));
    return std::unique_ptr<SurveyStore>(new SurveyStore(std::move(opened)));
}

Result<LinkBook> SurveyStore::load() {
    const std::lock_guard lock(mutex_);
    LinkBook book;
    RM_RETURN_IF_ERROR(load_links(database_, book));
    RM_RETURN_IF_ERROR(load_groups(database_, book));
    RM_RETURN_IF_ERROR(load_nodes(database_, book));
    return book;
}

Result<std::int64_t> SurveyStore::last_survey() {
    const std::lock_guard lock(mutex_);
    RM_TRY(Statement select, database_.prepare("SELECT coalesce(max(number), 0) FROM surveys"));
    RM_TRY(const bool found, select.step());
    return found ? select.whole(0) : 0;
}

Status SurveyStore::add(std::span<const LinkSample> samples) {
    const std::lock_guard lock(mutex_);
    return database_.transaction([&] { return put_samples(samples); });
}

Status SurveyStore::put_samples(std::span<const LinkSample> samples) {
    RM_TRY(Statement put,
           database_.prepare("INSERT INTO link_samples (survey, time, from_node, to_node, "
                             "measured_by, beside, streams, rate, bytes, seconds, loss, latency, "
                             "jitter) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const LinkSample& sample : samples) {
        for (const BandwidthSample& bandwidth : sample.report.samples) {
            put.bind(1, sample.survey)
                .bind(2, sample.time.micros)
                .bind(3, sample.ends.first.value)
                .bind(4, sample.ends.second.value)
                // The sender reports what its peer counted.
                .bind(5, sample.ends.first.value)
                .bind(6, std::int64_t{sample.beside})
                .bind(7, std::int64_t{bandwidth.streams})
                .bind(8, bandwidth.rate.value)
                .bind(9, bandwidth.bytes.value)
                .bind(10, bandwidth.seconds.value)
                .bind(11, bandwidth.loss)
                .bind(12, sample.report.latency.value)
                .bind(13, sample.report.jitter.value);
            RM_RETURN_IF_ERROR(put.run());
        }
    }
    return {};
}

Status SurveyStore::finish(const SurveyRecord& survey, const LinkBook& book) {
    const std::lock_guard lock(mutex_);
    return database_.transaction([&]() -> Status {
        RM_RETURN_IF_ERROR(put_survey(survey));
        return put_book(book);
    });
}

Status SurveyStore::put_survey(const SurveyRecord& survey) {
    RM_TRY(Statement put,
           database_.prepare("INSERT OR REPLACE INTO surveys (number, reason, started, ended, "
                             "nodes, links, failed, errors) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
    put.bind(1, survey.number)
        .bind(2, survey.reason)
        .bind(3, survey.started.micros)
        .bind(4, survey.ended.micros)
        .bind(5, std::int64_t{survey.num_nodes})
        .bind(6, std::int64_t{survey.num_links})
        .bind(7, std::int64_t{survey.num_failed})
        .bind(8, joined(survey.errors));
    RM_RETURN_IF_ERROR(put.run());
    RM_TRY(Statement prune, database_.prepare("DELETE FROM link_samples WHERE survey <= ?"));
    return prune.bind(1, survey.number - kKeptSurveys).run();
}

Status SurveyStore::put_book(const LinkBook& book) {
    RM_RETURN_IF_ERROR(put_links(database_, book));
    RM_RETURN_IF_ERROR(put_groups(database_, book));
    return put_nodes(database_, book);
}

Result<std::vector<KeptSample>> SurveyStore::history(const LinkEnds& ends, int limit) {
    const std::lock_guard lock(mutex_);
    RM_TRY(Statement select,
           database_.prepare("SELECT survey, time, measured_by, beside, streams, rate, bytes, "
                             "seconds, loss, latency, jitter FROM link_samples WHERE from_node = ? "
                             "AND to_node = ? ORDER BY id DESC LIMIT ?"));
    select.bind(1, ends.first.value).bind(2, ends.second.value).bind(3, std::int64_t{limit});
    std::vector<KeptSample> samples;
    RM_RETURN_IF_ERROR(for_rows(select, [&](const Statement& row) {
        samples.push_back({.survey = row.whole(0),
                           .time = {row.whole(1)},
                           .ends = ends,
                           .measured_by = {row.text(2)},
                           .beside = static_cast<int>(row.whole(3)),
                           .bandwidth = {.streams = static_cast<int>(row.whole(4)),
                                         .rate = {row.number(5)},
                                         .bytes = {row.whole(6)},
                                         .seconds = {row.number(7)},
                                         .loss = row.number(8)},
                           .latency = {row.number(9)},
                           .jitter = {row.number(10)}});
    }));
    return samples;
}

}  // namespace rm
