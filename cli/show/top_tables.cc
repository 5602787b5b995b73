#include <algorithm>
#include <map>
#include <set>

#include "base/median.h"
#include "cli/show/job_tables.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"

namespace rm {
namespace {

constexpr std::size_t kShortId = 8;
constexpr double kQuietFactor = 3;  // times its longest recent pause
constexpr double kQuietAtLeast = 10;

// A node's name where no other node has it; otherwise the beginning of its id.
class NodeLabels {
public:
    explicit NodeLabels(const pb::TopReply& reply) {
        for (const pb::TopJob& job : reply.jobs())
            add(job);
    }
    void add(const pb::TopJob& job) {
        for (const pb::TopRank& rank : job.ranks())
            ids_[rank.hostname()].insert(rank.node_id());
    }
    NodeLabels() = default;

    std::string of(const std::string& id, const std::string& name, Detail detail) const {
        if (detail == Detail::wide) return id;
        const auto found = ids_.find(name);
        const bool is_one = !name.empty() && found != ids_.end() && found->second.size() == 1;
        return is_one ? name : id.substr(0, kShortId);
    }

private:
    std::map<std::string, std::set<std::string>> ids_;  // by name
};

bool has_stepped(const pb::TopRank& rank) {
    return rank.last_step() > 0 && rank.step_seconds() > 0;
}

double work_of(const pb::TopRank& rank) {
    return std::max(0.0, rank.step_seconds() - rank.wait_seconds());
}

std::optional<Straggler> straggler_of(const pb::TopJob& job) {
    std::vector<double> work;
    for (const pb::TopRank& rank : job.ranks()) {
        if (!has_stepped(rank)) return std::nullopt;
        work.push_back(work_of(rank));
    }
    return find_straggler(work);
}

std::string seconds_text(const pb::TopRank& rank, double seconds) {
    return has_stepped(rank) ? to_string(Seconds{seconds}) : "";
}

std::string share_text(const pb::TopRank& rank, double seconds) {
    return has_stepped(rank) ? percent_text(std::min(1.0, seconds / rank.step_seconds())) : "";
}

std::string bytes_text(std::int64_t bytes) {
    return bytes > 0 ? to_string(Bytes{bytes}) : "";
}

// The rank's phase, or the problem that stops it.
Cell phase_cell(const pb::TopRank& rank) {
    if (!rank.session_up()) return {"no session", Color::yellow};
    if (!rank.reported()) return {"not launched", Color::yellow};
    if (rank.exited()) return {"ended", Color::red};
    if (rank.suspended()) return {"suspended", Color::red};
    return rank.phase();
}

Cell quiet_cell(const pb::TopRank& rank) {
    const double usual = rank.longest_quiet_seconds();
    if (usual <= 0) return "";
    const double quiet = rank.quiet_seconds();
    const bool strange = quiet > kQuietAtLeast && quiet > kQuietFactor * usual;
    return {to_string(Seconds{quiet}), strange ? Color::red : Color::none};
}

std::string step_text(const pb::TopRank& rank) {
    return rank.step() > 0 ? format("{}", rank.step()) : "";
}

// Yellow: its clocks are lowered.
Cell temperature_cell(const pb::TopRank& rank) {
    const int celsius = rank.gpu().temperature_celsius();
    if (celsius == 0) return "";
    return {format("{} °C", celsius), rank.gpu().throttled().empty() ? Color::none : Color::yellow};
}

std::string power_text(const pb::TopRank& rank) {
    return rank.gpu().watts() > 0 ? format("{:.0} W", rank.gpu().watts()) : "";
}

// A row of `top`.
struct RankRow {
    const pb::TopJob& job;
    const pb::TopRank& rank;
    bool is_slowest;
};

std::vector<RankRow> rows_of(const pb::TopReply& reply) {
    std::vector<RankRow> rows;
    for (const pb::TopJob& job : reply.jobs()) {
        const auto slow = straggler_of(job);
        for (int i = 0; i < job.ranks_size(); ++i)
            rows.push_back({job, job.ranks(i), slow && slow->rank == usize(i)});
    }
    return rows;
}

bool any_gpu(const std::vector<RankRow>& rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [](const RankRow& row) { return row.rank.has_gpu(); });
}

const auto of_rank = cells_of([](const RankRow& row) { return &row.rank; });
auto bytes_of(std::int64_t (pb::TopRank::*bytes)() const) {
    return of_rank([bytes](auto& rank) { return bytes_text((rank.*bytes)()); });
}
auto share_of(double (pb::TopRank::*seconds)() const) {
    return of_rank([seconds](auto& rank) { return share_text(rank, (rank.*seconds)()); });
}

struct NodeSum {
    std::string hostname;
    int ranks = 0;
    int stepped = 0;
    double work = 0;        // the longest
    double wait_share = 0;  // the sum of them
    double quiet = 0;       // the longest
    std::int64_t device_bytes = 0;
    std::int64_t host_bytes = 0;

    void add(const pb::TopRank& rank) {
        hostname = rank.hostname();
        ++ranks;
        quiet = std::max(quiet, rank.quiet_seconds());
        device_bytes += rank.device_bytes();
        host_bytes += rank.host_bytes();
        if (!has_stepped(rank)) return;
        ++stepped;
        work = std::max(work, work_of(rank));
        wait_share += rank.wait_seconds() / rank.step_seconds();
    }
};

}  // namespace

std::vector<Cell> top_heading(const pb::TopJob& top, WallTime now) {
    const pb::Job& job = top.job();
    std::string line = state_line(job);
    if (job.has_last_step() && !has_ended(job)) {
        const pb::StepReport& step = job.last_step();
        line += format("; step {}/{}, loss {:.4}, {} tok/s", step.step(), job.num_steps(),
                       step.loss(), compact_count(tokens_per_second(step)));
        if (const auto left = time_left(job)) line += ", ETA " + span_text(*left);
        if (step.has_time()) {
            line += format(", {} ago", span_text(now - from_proto(step.time())));
        }
    }
    std::vector<Cell> lines = {{printable(line), state_color(job.state())}};
    if (const auto slow = straggler_of(top)) {
        const pb::TopRank& rank = top.ranks(static_cast<int>(slow->rank));
        NodeLabels labels;
        labels.add(top);
        lines.emplace_back(
            format("  rank {} on {}:{} worked {}, the others {}: they waited for it", rank.rank(),
                   printable(labels.of(rank.node_id(), rank.hostname(), Detail::usual)),
                   rank.device(), to_string(Seconds{slow->seconds}),
                   to_string(Seconds{slow->others})),
            Color::yellow);
    }
    return lines;
}

Table top_table(const pb::TopReply& reply, Detail detail) {
    const NodeLabels labels(reply);
    const std::vector<RankRow> rows = rows_of(reply);
    TableOf table(rows, detail);
    table.left("JOB", [](auto& row) { return row.job.job().id(); });
    table.right("RANK", of_rank(&pb::TopRank::rank));
    table.left("NODE", of_rank([&](auto& rank) {
                   return labels.of(rank.node_id(), rank.hostname(), detail);
               }));
    table.right("DEV", of_rank(&pb::TopRank::device), 5);
    table.right("STEP", of_rank(step_text));
    table.right("TIME", of_rank([](auto& rank) { return seconds_text(rank, rank.step_seconds()); }),
                2);
    table.right("WORK", [](auto& row) {
        return Cell(seconds_text(row.rank, work_of(row.rank)),
                    row.is_slowest ? Color::yellow : Color::none);
    });
    table.right("MFU", of_rank([](auto& rank) {
                    return rank.causal_mfu() > 0 ? percent_text(rank.causal_mfu()) : "";
                }),
                1);
    table.right("MEMORY", bytes_of(&pb::TopRank::device_bytes), 4);
    table.right("HOST", bytes_of(&pb::TopRank::host_bytes), 6);
    table.right("WAIT", share_of(&pb::TopRank::wait_seconds));
    table.right("RING", share_of(&pb::TopRank::ring_wait_seconds), 3);
    if (any_gpu(rows)) {
        table.right("TEMP", of_rank(temperature_cell), 7);
        table.right("POWER", of_rank(power_text), 8);
    }
    table.left("PHASE", of_rank(phase_cell));
    table.right("QUIET", of_rank(quiet_cell));
    if (detail == Detail::wide) {
        table.left("HOSTNAME", of_rank(&pb::TopRank::hostname));
        table.left("KIND", of_rank(&pb::TopRank::device_kind));
        table.right("DEVICE-MEMORY", bytes_of(&pb::TopRank::device_memory_bytes));
        table.left("COLLECTIVE", of_rank(&pb::TopRank::last_collective));
        table.right("WAITS-FOR", of_rank([](auto& rank) {
                        return rank.waits_for() > 0 ? format("{}", rank.waits_for() - 1) : "";
                    }));
        table.left("PEAK", of_rank(&pb::TopRank::peak_name));
    }
    return table.done();
}

Table top_nodes_table(const pb::TopReply& reply, Detail detail) {
    std::map<std::string, NodeSum> nodes;
    for (const pb::TopJob& job : reply.jobs()) {
        for (const pb::TopRank& rank : job.ranks())
            nodes[rank.node_id()].add(rank);
    }
    const auto of_sum = cells_of([](auto& node) { return &node.second; });
    TableOf table(nodes);
    table.left("NODE", [detail](auto& node) {
        return detail == Detail::wide ? node.first : node.first.substr(0, kShortId);
    });
    table.left("HOSTNAME", of_sum(&NodeSum::hostname));
    table.right("RANKS", of_sum(&NodeSum::ranks));
    table.right("WORK", of_sum([](auto& sum) {
                    return sum.stepped > 0 ? to_string(Seconds{sum.work}) : "";
                }));
    table.right("MEMORY", of_sum([](auto& sum) { return bytes_text(sum.device_bytes); }));
    table.right("HOST", of_sum([](auto& sum) { return bytes_text(sum.host_bytes); }));
    table.right("WAIT", of_sum([](auto& sum) {
                    return sum.stepped > 0 ? percent_text(sum.wait_share / sum.stepped) : "";
                }));
    table.right("QUIET", of_sum([](auto& sum) {
                    return sum.quiet > 0 ? to_string(Seconds{sum.quiet}) : "";
                }));
    return table.done();
}

}  // namespace rm
