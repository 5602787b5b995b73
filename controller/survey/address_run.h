#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/survey/survey_run.h"

namespace rm {

struct AddressLimits {
    std::size_t peers = 16;  // that try the addresses of one node
    int tries = 2;           // of each address by each peer
    int streams = 4;         // so that one that stalls does not decide
    Seconds each{0.3};
    double clearly = 1.2;  // how much faster another address must be
};

// A node's data address that is better than its present one.
struct AddressChoice {
    NodeId node;
    std::string from;
    std::string to;
    GbitPerSec before;  // 0: a peer does not reach the node there
    GbitPerSec now;
    bool operator==(const AddressChoice&) const = default;
};

// The first part of a survey: peers try every address of the nodes that offer several. Pure: its
// owner carries out the steps, one after the other; each is of disjoint pairs. A node gets the
// fastest address that all its peers reach. It keeps the present one unless another is clearly
// faster, or a peer twice failed to reach the node there and twice reached it elsewhere. A peer
// that reaches the node nowhere says nothing.
class AddressRun {
public:
    // `survey`: its number, by which the peers of many nodes change from one survey to the next.
    AddressRun(std::vector<SurveyNode> nodes, AddressLimits limits, std::int64_t survey);

    std::optional<SurveyStep> next();
    // One report per task of the step; id 0: the peer did not answer.
    void record(const SurveyStep& step, const std::vector<ProbeReport>& reports);
    std::vector<AddressChoice> choices() const;

    std::size_t steps_done() const { return done_; }
    std::size_t steps_known() const { return rounds_.size() * steps_of_round_; }  // at most

private:
    struct Tries {
        int made = 0;
        int reached = 0;
        double best = 0;  // Gbit/s
    };
    using ByAddress = std::map<std::string, Tries>;

    bool has_choice(int node) const { return nodes_[usize(node)].candidates.size() > 1; }
    void add(const Round& round);
    SurveyStep step_here() const;
    void move_on();
    // By the tries of one peer at one host.
    bool is_refuted(const ByAddress& tries, const std::string& address) const;
    // By the tries of any peer at this host, or by a peer that reaches no host in this network.
    bool is_refuted(int host, const DataAddress& address) const;
    void close_networks();
    // The median over the peers, Gbit/s; nothing where one does not reach it.
    std::optional<double> rate(int host, const std::string& address) const;
    std::optional<AddressChoice> choice(int node) const;

    const std::vector<SurveyNode> nodes_;
    const std::vector<int> hosts_;  // by node, the first node of its machine
    const AddressLimits limits_;
    std::vector<Round> rounds_;  // from, to
    std::size_t most_addresses_ = 0;
    std::size_t steps_of_round_ = 0;
    // Where the run is.
    std::size_t round_ = 0;
    int try_ = 0;
    std::size_t address_ = 0;
    std::size_t done_ = 0;
    // By host, then by peer.
    std::map<int, std::map<int, ByAddress>> tries_;
    std::set<std::string> closed_;  // networks that a peer does not reach
};

}  // namespace rm
