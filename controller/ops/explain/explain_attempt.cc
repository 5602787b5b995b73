#include <algorithm>
#include <set>

#include "base/words.h"
#include "controller/ops/explain/explain.h"

namespace rm {
namespace {

// A rank is quiet after this time if it is also three times the longest pause of its last steps.
constexpr Seconds kQuiet{10};
constexpr std::size_t kShownLinks = 4;

std::string attempt_text(const Attempt& attempt) {
    return format("attempt {}", attempt.epoch);
}

std::size_t count_in(const Attempt& attempt, RankState state) {
    return usize(std::count_if(attempt.ranks.begin(), attempt.ranks.end(),
                               [&](const RankRecord& rank) { return rank.state == state; }));
}

std::size_t num_placed_on(const Attempt& attempt, const NodeId& node) {
    return usize(
        std::count_if(attempt.ranks.begin(), attempt.ranks.end(), [&](const RankRecord& rank) {
            return rank.device.node == node && rank.state == RankState::placed;
        }));
}

// The progress of training, as reported by the workers with a session.
std::string others_say(const State& state, const Attempt& attempt) {
    bool any = false;
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        if (node == nullptr || !node->session.up) continue;
        const AttemptStatus* status = find_status(*node, attempt.epoch);
        if (status == nullptr) continue;
        any = true;
        const bool all_run =
            std::all_of(status->ranks.begin(), status->ranks.end(),
                        [](const RankStatus& rank) { return rank.running && !rank.exited; });
        if (!all_run) return "other workers report ranks that have ended";
    }
    if (!any) return "the state of its ranks is unknown: no worker of the attempt reports";
    return "training continues; other workers report no problem with it";
}

void add_nodes_without_session(const State& state, const Attempt& attempt, WallTime now,
                               Findings& findings) {
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        if (node == nullptr || node->session.up) continue;
        const bool starting = attempt.state == AttemptState::starting;
        findings.push_back(
            problem(format("node {}", id),
                    format("has had no session for {}; {}", to_string(now - node->session.since),
                           starting ? format("{} there wait for their launch",
                                             counted(num_placed_on(attempt, id), "rank"))
                                    : others_say(state, attempt)),
                    format("look at its worker; if the machine no longer exists, "
                           "`ringmaster drain {} --gone`",
                           id)));
    }
}

// Reports unconfirmed launches, which a starting attempt waits for.
void add_unconfirmed(const State& state, const Attempt& attempt, WallTime now, Findings& findings) {
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        const std::size_t waiting = num_placed_on(attempt, id);
        if (node == nullptr || !node->session.up || waiting == 0) continue;
        findings.push_back(
            info(format("node {}", id),
                 format("has not confirmed the launch of {} for {}", counted(waiting, "rank"),
                        to_string(now - attempt.started))));
    }
}

void add_drained(const State& state, const Attempt& attempt, Findings& findings) {
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        if (node == nullptr || node->drained.empty()) continue;
        findings.push_back(
            info(format("node {}", id),
                 format("is drained ({}): nothing new is placed there", node->drained),
                 format("`ringmaster resume {}`", id)));
    }
}

std::string where(const RankStatus& rank) {
    std::string text;
    if (rank.collectives_entered > rank.collectives_left) text += "; in " + rank.last_collective;
    if (rank.waits_for >= 0) text += format("; waits for rank {}", rank.waits_for);
    return text;
}

// The rank that delays all others waits for no particular rank: its own log is the place to look.
std::string remedy_of(const Attempt& attempt, const RankStatus& rank) {
    if (rank.waits_for >= 0) return format("look at rank {} first", rank.waits_for);
    return format("its log: `ringmaster logs {} --rank {}`", attempt.job, rank.rank);
}

void add_rank(const Attempt& attempt, const NodeId& node, const RankStatus& rank,
              Findings& findings) {
    const std::string subject = format("rank {}", rank.rank);
    const std::string place = format("on {}:{}", node, rank.device);
    if (rank.exited) {
        const std::string how = rank.exit_signal != 0 ? format("by signal {}", rank.exit_signal)
                                                      : format("with code {}", rank.exit_code);
        findings.push_back(problem(subject, format("{}: ended {}{}{}", place, how,
                                                   rank.error.empty() ? "" : ": ", rank.error)));
    } else if (rank.suspended) {
        findings.push_back(problem(
            subject, format("{}: suspended by a signal or a debugger at step {}", place, rank.step),
            "send its process SIGCONT, or let go of it in the debugger"));
    } else if (rank.quiet > kQuiet && rank.quiet.value > 3 * rank.longest_quiet.value) {
        findings.push_back(problem(
            subject,
            format("{}: quiet for {} at step {} (its longest pause lately: {}){}", place,
                   to_string(rank.quiet), rank.step, to_string(rank.longest_quiet), where(rank)),
            remedy_of(attempt, rank)));
    }
    if (!rank.gpu.throttled.empty()) {
        findings.push_back(
            problem(subject,
                    format("{}: its GPU lowers its clocks ({}) at {} °C and {:.0} W", place,
                           rank.gpu.throttled, rank.gpu.temperature_celsius, rank.gpu.watts),
                    "look at its cooling and its power limit: every rank waits for it"));
    }
}

void add_ranks(const State& state, const Attempt& attempt, Findings& findings) {
    if (attempt.state == AttemptState::starting) return;
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        if (node == nullptr || !node->session.up) continue;
        const AttemptStatus* status = find_status(*node, attempt.epoch);
        if (status == nullptr) continue;
        for (const RankStatus& rank : status->ranks) {
            // Ranks are expected to end while their attempt stops.
            if (rank.exited && attempt.state == AttemptState::stopping) continue;
            if (rank.exited && rank.exit_code == kRankFinished && rank.exit_signal == 0) continue;
            add_rank(attempt, id, rank, findings);
        }
    }
}

std::string rate_text(GbitPerSec rate) {
    return rate.value < 1 ? format("{:.0} Mbit/s", rate.value * 1000)
                          : format("{:.1} Gbit/s", rate.value);
}

// The worst links first, then the number of the others.
void add_links(const State& state, const Attempt& attempt, WallTime now, Findings& findings) {
    const auto links = degraded_links_of(state, attempt);
    std::vector<std::pair<std::pair<NodeId, NodeId>, LinkAlarm>> order(links.begin(), links.end());
    const auto part = [](const LinkAlarm& link) { return link.now.value / link.baseline.value; };
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return part(a.second) < part(b.second); });
    for (std::size_t i = 0; i < std::min(order.size(), kShownLinks); ++i) {
        const auto& [ends, link] = order[i];
        findings.push_back(problem(
            format("link {} to {}", ends.first, ends.second),
            format("degraded for {}: {}, its baseline is {}", to_string(now - link.since),
                   rate_text(link.now), rate_text(link.baseline)),
            format("check both ends: `ringmaster links {} {}`; the next attempt is placed by the "
                   "new measurements",
                   ends.first, ends.second)));
    }
    if (order.size() <= kShownLinks) return;
    findings.push_back(
        problem("links", format("{} more of its links are degraded", order.size() - kShownLinks),
                "`ringmaster links` shows them all"));
}

std::string training_text(std::size_t training, std::size_t all) {
    if (training < all) return format("{} of {} training", training, counted(all, "rank"));
    return format("{}{} training", all == 1 ? "" : "all ", counted(all, "rank"));
}

std::string doing(const Attempt& attempt) {
    const std::size_t all = attempt.ranks.size();
    switch (attempt.state) {
        case AttemptState::starting:
            return format("is starting: {} of {} launched, {} at their first step",
                          all - count_in(attempt, RankState::placed), counted(all, "rank"),
                          count_in(attempt, RankState::training));
        case AttemptState::running:
            return training_text(count_in(attempt, RankState::training), all);
        case AttemptState::stopping:
            return format(
                "is being stopped ({}, {}): {} of {} still run", to_string(attempt.stop_reason),
                attempt.stop_mode == StopMode::now ? "at once" : "with a checkpoint",
                all - count_in(attempt, RankState::exited) - count_in(attempt, RankState::cleared),
                counted(all, "rank"));
        case AttemptState::succeeded:
        case AttemptState::failed:
        case AttemptState::lost:
        case AttemptState::cancelled:
            break;
    }
    return format("has {}", to_string(attempt.state));
}

}  // namespace

Findings explain_attempt(const State& state, const Attempt& attempt, WallTime now) {
    const std::size_t nodes = attempt.nodes().size();
    Findings findings = {info(attempt_text(attempt),
                              format("{}, on {} for {}", doing(attempt), counted(nodes, "node"),
                                     to_string(now - attempt.started)))};
    if (!attempt.cause.empty()) {
        findings.push_back(problem(attempt_text(attempt), attempt.cause));
    }
    add_nodes_without_session(state, attempt, now, findings);
    if (attempt.state == AttemptState::starting) add_unconfirmed(state, attempt, now, findings);
    add_ranks(state, attempt, findings);
    add_links(state, attempt, now, findings);
    add_drained(state, attempt, findings);
    return findings;
}

}  // namespace rm
