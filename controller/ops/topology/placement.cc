#include "controller/ops/topology/placement.h"

#include <algorithm>
#include <set>

#include "controller/core/jobs/make_snapshot.h"
#include "controller/ops/ops.h"
#include "planner/placement/explain.h"
#include "planner/placement/graph_devices.h"
#include "planner/placement/job_traffic.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

Error no_attempt(const Job& job) {
    if (is_terminal(job.state)) {
        return make_error(ErrorCode::failed_precondition, "job {} is {} and never had an attempt",
                          job.id, to_string(job.state));
    }
    std::string why;
    for (const Reason& reason : job.blocking_reasons)
        why += "; " + to_string(reason);
    return make_error(ErrorCode::failed_precondition,
                      "job {} has no attempt yet{}; more: `ringmaster explain {}`", job.id, why,
                      job.id);
}

std::vector<HostOfNode> hosts_of(const State& state, const Attempt& attempt) {
    std::vector<HostOfNode> hosts;
    std::set<NodeId> seen;
    for (const RankRecord& rank : attempt.ranks) {
        const Node* node = find_node(state, rank.device.node);
        if (node == nullptr || !seen.insert(node->id).second) continue;
        hosts.push_back({node->id, node->inventory.hostname, node->inventory.data_address});
    }
    return hosts;
}

std::vector<NodeId> nodes_in_order(const State& state, const Attempt& attempt) {
    const std::set<NodeId> with_ranks = attempt.nodes();
    std::vector<NodeId> nodes;
    for (const Node* node : nodes_by_registration(state)) {
        const bool counts = node->state != NodeState::gone || with_ranks.contains(node->id);
        if (counts) nodes.push_back(node->id);
    }
    return nodes;
}

// The devices that could replace those of an attempt, regardless of where the job's files are.
std::vector<DeviceId> free_like(const State& state, const Attempt& attempt, const Job& job) {
    const std::vector<PlanningDevice> devices = planning_devices(state);
    const DeviceId& first = attempt.ranks.front().device;
    const auto like = std::find_if(devices.begin(), devices.end(),
                                   [&](const PlanningDevice& d) { return d.id == first; });
    std::vector<DeviceId> free;
    if (like == devices.end()) return free;
    std::set<DeviceId> left_out(job.excluded.begin(), job.excluded.end());
    for (const RankRecord& rank : attempt.ranks)
        left_out.insert(rank.device);
    for (const PlanningDevice& device : devices) {
        const bool is_alike = device.kind == like->kind && device.build == like->build;
        const bool is_free = device.availability == Availability::free;
        if (is_alike && is_free && !left_out.contains(device.id)) free.push_back(device.id);
    }
    return free;
}

// Describes the placement of one attempt from survey results.
class Describer {
public:
    Describer(const PlacedAttempt& attempt, const LinkBook& book)
        : attempt_(attempt),
          book_(book),
          graph_(book.graph(attempt.nodes)),
          devices_(graph_),
          traffic_(traffic_of(attempt.spec, attempt.mesh)) {}

    pb::PlacementReply describe() const {
        pb::PlacementReply reply;
        reply.set_job_id(attempt_.job.value);
        reply.set_attempt(attempt_.epoch.value);
        for (const NodeId& node : unsurveyed())
            reply.add_unsurveyed(node.value);
        reply.set_model(traffic_.model);
        reply.set_stand_in(traffic_.is_stand_in);
        reply.set_context(traffic_.context);
        const std::vector<DeviceId> free = measured_free();
        reply.set_num_free(static_cast<int>(free.size()));
        const bool predicted = reply.unsurveyed().empty() && attempt_.mesh.num_ranks() > 1;
        *reply.mutable_placement() = to_proto(predicted ? predict(free) : only_ranks());
        return reply;
    }

private:
    std::vector<NodeId> unsurveyed() const {
        std::vector<NodeId> nodes;
        for (const DeviceId& rank : attempt_.ranks) {
            const bool is_listed = std::find(nodes.begin(), nodes.end(), rank.node) != nodes.end();
            if (!devices_.find(rank) && !is_listed) nodes.push_back(rank.node);
        }
        return nodes;
    }

    std::vector<DeviceId> measured_free() const {
        std::vector<DeviceId> free = attempt_.free;
        std::erase_if(free, [&](const DeviceId& device) { return !devices_.find(device); });
        return free;
    }

    PlacementReport only_ranks() const {
        PlacementReport report;
        report.mesh = attempt_.mesh;
        report.zero = attempt_.zero;
        report.hosts = attempt_.hosts;
        report.placed.ranks = attempt_.ranks;
        return report;
    }

    PlacementReport predict(const std::vector<DeviceId>& free) const {
        std::vector<DeviceId> usable = attempt_.ranks;
        usable.insert(usable.end(), free.begin(), free.end());
        const PlacementProblem problem{graph_, attempt_.mesh, traffic_.phases,
                                       devices_.all_but(usable)};
        std::vector<Endpoint> placement;
        for (const DeviceId& rank : attempt_.ranks)
            placement.push_back(*devices_.find(rank));
        PlacementReport report = report_placement(problem, placement);
        report.zero = attempt_.zero;
        report.hosts = attempt_.hosts;
        report.degraded = degraded();
        return report;
    }

    // The degraded links between nodes that the ranks use in any phase.
    std::vector<DegradedLink> degraded() const {
        const std::set<LinkEnds> used = node_links(traffic_.phases, attempt_.mesh, attempt_.ranks);
        std::vector<DegradedLink> links;
        for (const LinkEnds& ends : book_.degraded()) {
            if (!used.contains(ends)) continue;
            const LinkState& link = book_.links.at(ends);
            links.push_back(
                {ends.first, ends.second, link.bandwidth, link.baseline, *link.degraded});
        }
        return links;
    }

    const PlacedAttempt& attempt_;
    const LinkBook& book_;
    const LinkGraph graph_;
    const GraphDevices devices_;
    const JobTraffic traffic_;
};

}  // namespace

Result<const Attempt*> find_placed(const State& state, const Job& job, std::int64_t epoch) {
    const Attempt* attempt = newest_attempt(state, job.id);
    if (epoch != 0) {
        attempt = find_attempt(state, {epoch});
        if (attempt == nullptr || attempt->job != job.id) {
            return make_error(ErrorCode::not_found, "job {} has no attempt {}", job.id, epoch);
        }
    }
    if (attempt == nullptr) return no_attempt(job);
    for (std::size_t rank = 0; rank < attempt->ranks.size(); ++rank) {
        if (!attempt->ranks[rank].device.node.empty()) continue;
        return make_error(ErrorCode::failed_precondition,
                          "the worker of rank {} of attempt {} has not reported where it runs yet",
                          rank, attempt->epoch);
    }
    return attempt;
}

Result<PlacedAttempt> placed_attempt(const State& state, const pb::PlacementRequest& request) {
    RM_TRY(const JobId id, resolve_job(state, request.job_id()));
    const Job& job = *find_job(state, id);
    RM_TRY(const Attempt* attempt, find_placed(state, job, request.attempt()));
    PlacedAttempt placed;
    placed.job = id;
    placed.spec = job.spec;
    placed.epoch = attempt->epoch;
    placed.mesh = attempt->mesh;
    placed.zero = attempt->zero;
    for (const RankRecord& rank : attempt->ranks)
        placed.ranks.push_back(rank.device);
    placed.hosts = hosts_of(state, *attempt);
    placed.nodes = nodes_in_order(state, *attempt);
    placed.free = free_like(state, *attempt, job);
    return placed;
}

pb::PlacementReply describe_placement(const PlacedAttempt& attempt, const LinkBook& book) {
    return Describer(attempt, book).describe();
}

Result<pb::PlacementReply> get_placement(OpsContext& context, const SurveyLoop& surveys,
                                         const pb::PlacementRequest& request) {
    // Computes nothing while it reads the state: commits wait for readers.
    RM_TRY(const PlacedAttempt attempt, context.control.read([&](const State& state) {
        return placed_attempt(state, request);
    }));
    const SurveyView view = surveys.view();
    pb::PlacementReply reply = describe_placement(attempt, view.book);
    reply.set_survey(view.progress.last);
    return reply;
}

}  // namespace rm
