#include "controller/survey/survey_run.h"

#include <algorithm>

namespace rm {
namespace {

// Share of the best rate of all numbers of flows: below it a pair's one flow may have stalled.
constexpr double kStalled = 0.6;

// Time to measure one connection inside a node, with a margin.
constexpr Seconds kInsideEach{0.005};

// Time to measure all devices of a node with each other and with the host, both ways.
Seconds inside_time(const SurveyNode& node) {
    const double devices = node.num_devices;
    return {kInsideEach.value * devices * (devices + 1)};
}

double rate_of(const ProbeReport& report) {
    return report.samples.back().rate.value;
}

Round reversed(const Round& round) {
    Round back;
    for (const auto& [a, b] : round)
        back.push_back({b, a});
    return back;
}

}  // namespace

std::vector<Round> tournament(int num_nodes) {
    if (num_nodes < 2) return {};
    const int seats = num_nodes + num_nodes % 2;
    std::vector<Round> rounds;
    for (int turn = 0; turn + 1 < seats; ++turn) {
        Round round;
        // Seat 0 stays, the others move on by one each round.
        const auto at = [&](int seat) {
            return seat == 0 ? 0 : 1 + (seat - 1 + turn) % (seats - 1);
        };
        for (int seat = 0; seat < seats / 2; ++seat) {
            const NodePair pair = std::minmax(at(seat), at(seats - 1 - seat));
            if (pair.second < num_nodes) round.push_back(pair);
        }
        rounds.push_back(std::move(round));
    }
    return rounds;
}

std::vector<Round> sampled(const std::vector<Round>& rounds, std::size_t count) {
    if (rounds.size() <= count) return rounds;
    std::vector<Round> kept;
    for (std::size_t i = 0; i < count; ++i)
        kept.push_back(rounds[i * rounds.size() / count]);
    return kept;
}

SurveyRun::SurveyRun(std::vector<SurveyNode> nodes, SurveyLimits limits, IsSuspect is_suspect)
    : nodes_(std::move(nodes)), limits_(std::move(limits)), is_suspect_(std::move(is_suspect)) {
    SurveyStep insides;
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
        insides.push_back({.kind = ProbeKind::node,
                           .from = node,
                           .to = node,
                           .each = inside_time(nodes_[usize(node)])});
    if (!insides.empty()) steps_.push_back(std::move(insides));
    add_rounds();
}

bool SurveyRun::between_loopbacks(const NodePair& pair) const {
    return nodes_[usize(pair.first)].on_loopback() && nodes_[usize(pair.second)].on_loopback();
}

bool SurveyRun::is_network() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const SurveyNode& node) { return !node.on_loopback(); });
}

void SurveyRun::add_steps(const Round& pairs) {
    for (const bool loopback : {false, true}) {
        const auto& counts = loopback ? limits_.streams_on_loopback : limits_.streams;
        for (const int streams : counts) {
            SurveyStep step;
            for (const auto& [from, to] : pairs) {
                if (between_loopbacks({from, to}) != loopback) continue;
                step.push_back({.from = from,
                                .to = to,
                                .streams = streams,
                                .each = loopback ? limits_.each_on_loopback : limits_.each});
            }
            if (!step.empty()) steps_.push_back(std::move(step));
        }
    }
}

// The number of the round's links that jobs use.
std::ptrdiff_t SurveyRun::num_used(const Round& round) const {
    return std::count_if(round.begin(), round.end(), [&](const NodePair& pair) {
        const SurveyNode& a = nodes_[usize(pair.first)];
        const SurveyNode& b = nodes_[usize(pair.second)];
        return a.sends_to.contains(b.id) || b.sends_to.contains(a.id);
    });
}

std::vector<Round> SurveyRun::rounds_by_use() const {
    std::multimap<std::ptrdiff_t, Round, std::greater<>> by_use;
    for (Round& round : tournament(static_cast<int>(nodes_.size())))
        by_use.emplace(num_used(round), std::move(round));
    const bool all = nodes_.size() <= limits_.nodes_with_every_pair;
    std::vector<Round> rounds;
    std::vector<Round> unused;
    for (auto& [used, round] : by_use) {
        const bool kept = used > 0 && (all || rounds.size() < limits_.sampled_rounds);
        if (kept || used == 0) (kept ? rounds : unused).push_back(std::move(round));
    }
    if (!all) unused = sampled(unused, limits_.sampled_rounds - rounds.size());
    rounds.insert(rounds.end(), unused.begin(), unused.end());
    return rounds;
}

void SurveyRun::add_rounds() {
    for (const Round& round : rounds_by_use()) {
        add_steps(round);
        add_steps(reversed(round));
    }
}

void SurveyRun::add_alone() {
    alone_added_ = true;
    const InferredNetwork found = for_the_best();
    std::vector<NodePair> pairs;
    for (const auto& [pair, report] : links_) {
        const auto& [from, to] = pair;
        const double rate = found.rate[usize(from)][usize(to)];
        const bool suspect = is_suspect_(nodes_[usize(from)].id, nodes_[usize(to)].id, {rate});
        if (suspect && !alone_.contains(pair)) pairs.push_back(pair);
    }
    std::vector<NodePair> more = worth_measuring_alone(found, all_);
    const std::vector<NodePair> stalled = stalled_pairs();
    more.insert(more.end(), stalled.begin(), stalled.end());
    for (const NodePair& pair : more) {
        if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
    }
    const double visits =
        static_cast<double>(steps_.size()) / static_cast<double>(limits_.streams.size());
    const auto share = static_cast<std::size_t>(limits_.alone_share * visits);
    const std::size_t most = std::max(limits_.alone_at_least, share);
    if (pairs.size() > most) pairs.resize(most);
    for (const NodePair& pair : pairs) {
        const std::size_t first = steps_.size();
        add_steps({pair});
        // A single flow that loses the wrong segment stalls for as long as a sample takes: of two
        // samples the better one counts.
        steps_.push_back(steps_[first]);
    }
}

std::vector<NodePair> SurveyRun::stalled_pairs() const {
    std::vector<NodePair> stalled;
    for (const auto& [pair, report] : links_) {
        double best = 0;
        for (const BandwidthSample& sample : report.samples)
            best = std::max(best, sample.rate.value);
        const double one_flow = report.samples.front().rate.value;
        if (one_flow < kStalled * best && !alone_.contains(pair)) stalled.push_back(pair);
    }
    return stalled;
}

std::optional<SurveyStep> SurveyRun::next() {
    if (done_ == steps_.size() && !alone_added_) add_alone();
    if (done_ == steps_.size()) return std::nullopt;
    return steps_[done_];
}

void SurveyRun::record(const SurveyStep& step, const std::vector<ProbeReport>& reports) {
    ++done_;
    Episode episode;
    for (std::size_t i = 0; i < step.size(); ++i) {
        const ProbeTask& task = step[i];
        const ProbeReport& report = reports[i];
        if (!report.error.empty()) continue;
        if (task.kind == ProbeKind::node) {
            insides_[task.from] = report;
        } else if (!report.samples.empty()) {
            record_link({task.from, task.to}, report);
            episode.push_back({task.from, task.to, rate_of(report)});
        }
    }
    if (episode.empty()) return;
    if (step.size() == 1) alone_.insert({step[0].from, step[0].to});
    if (step[0].streams == 1) one_flow_.push_back(episode);
    all_.push_back(std::move(episode));
}

void SurveyRun::record_link(NodePair pair, const ProbeReport& report) {
    ProbeReport& known = links_[pair];
    known.latency = report.latency;
    known.jitter = report.jitter;
    known.samples.insert(known.samples.end(), report.samples.begin(), report.samples.end());
}

}  // namespace rm
