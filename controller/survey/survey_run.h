#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "controller/survey/infer.h"
#include "spec/machine/probe.h"
#include "spec/session.h"

namespace rm {

// A node that can be probed: it has a session and a probe server.
struct SurveyNode {
    NodeId id;
    std::string address;  // its data address
    int probe_port = 0;
    int num_devices = 1;
    std::set<std::string> jobs;  // jobs with ranks here
    std::set<NodeId> sends_to;   // nodes that their ranks send to
    std::string network;         // equal on workers that share a loopback interface; empty: unknown
    std::vector<DataAddress> candidates;  // for `address`, if there are others
    bool operator==(const SurveyNode&) const = default;

    bool on_loopback() const { return address.starts_with("127.") || address == "::1"; }
};

struct SurveyLimits {
    std::vector<int> streams{1, 4, 16};
    Seconds each{0.3};
    // Between workers of one machine, where a probe measures memory and is brief.
    std::vector<int> streams_on_loopback{1};
    Seconds each_on_loopback{0.05};
    std::size_t nodes_with_every_pair = 64;  // above it rounds are sampled
    std::size_t sampled_rounds = 32;
    double alone_share = 0.2;  // of the rounds' steps: how many more measure a pair alone
    std::size_t alone_at_least = 24;
};

// From one node to another, or inside a node (`to` is `from`). Indices into the run's nodes.
struct ProbeTask {
    ProbeKind kind = ProbeKind::link;
    int from = 0;
    int to = 0;
    int streams = 0;
    Seconds each;
    int address = -1;  // of the candidates of `to`; -1: its data address
};
// Tasks that run at the same time: one sample each, so that flows that share a link share it
// throughout.
using SurveyStep = std::vector<ProbeTask>;

using Round = std::vector<NodePair>;  // disjoint

// Every pair of 0..num_nodes-1 once, in num_nodes - 1 rounds (num_nodes of them when it is odd: in
// each, one sits out). The circle method.
std::vector<Round> tournament(int num_nodes);
// `count` of the rounds, evenly spread; all of them if there are no more.
std::vector<Round> sampled(const std::vector<Round>& rounds, std::size_t count);

// One survey from its first step to its result. Pure: its owner carries out the steps, one after
// the other. First the nodes themselves, then every pair in rounds, first one way, then the other,
// rounds with links that jobs use before the rest, then some pairs alone: pairs whose rate the
// model does not explain, pairs that represent two groups, and pairs that `is_suspect` reports
// as changed.
class SurveyRun {
public:
    using IsSuspect = std::function<bool(const NodeId& from, const NodeId& to, GbitPerSec rate)>;

    SurveyRun(std::vector<SurveyNode> nodes, SurveyLimits limits, IsSuspect is_suspect);

    std::optional<SurveyStep> next();
    // One report per task of the step; those with an error count as nothing measured.
    void record(const SurveyStep& step, const std::vector<ProbeReport>& reports);

    const std::vector<SurveyNode>& nodes() const { return nodes_; }
    std::size_t steps_done() const { return done_; }
    std::size_t steps_known() const { return steps_.size(); }  // grows once, when pairs run alone

    // The inferred network, for one flow and for the best number of flows.
    InferredNetwork for_one_flow() const { return infer(one_flow_); }
    InferredNetwork for_the_best() const { return infer(all_); }
    // All samples and the newest latency of each link, and the inside of each node.
    const std::map<NodePair, ProbeReport>& links() const { return links_; }
    const std::map<int, ProbeReport>& insides() const { return insides_; }
    // False if all nodes are workers of one machine.
    bool is_network() const;
    bool ran_alone(NodePair pair) const { return alone_.contains(pair); }

private:
    // One step for each number of streams.
    void add_steps(const Round& pairs);
    bool between_loopbacks(const NodePair& pair) const;
    void add_rounds();
    std::vector<Round> rounds_by_use() const;
    std::ptrdiff_t num_used(const Round& round) const;
    void add_alone();
    std::vector<NodePair> stalled_pairs() const;
    void record_link(NodePair pair, const ProbeReport& report);
    InferredNetwork infer(const std::vector<Episode>& episodes) const {
        return infer_network(static_cast<int>(nodes_.size()), episodes,
                             is_network() ? Sharing::inferred : Sharing::none);
    }

    const std::vector<SurveyNode> nodes_;
    const SurveyLimits limits_;
    const IsSuspect is_suspect_;
    std::vector<SurveyStep> steps_;
    std::size_t done_ = 0;
    bool alone_added_ = false;
    std::vector<Episode> one_flow_;
    std::vector<Episode> all_;
    std::map<NodePair, ProbeReport> links_;
    std::map<int, ProbeReport> insides_;
    std::set<NodePair> alone_;
};

}  // namespace rm
