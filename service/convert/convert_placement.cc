#include "ringmaster/v1/topology.pb.h"
#include "service/convert/convert.h"
#include "service/convert/proto_members.h"
#include "topology/members.h"

namespace rm {
namespace {

// Checks that the ranks, nodes and phases that reports refer to by number exist.
Status check_numbers(const PlacementReport& report) {
    const int num_ranks = report.mesh.num_ranks();
    const auto wrong = [](int number, std::size_t count) {
        return number < 0 || usize(number) >= count;
    };
    for (const OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        const bool is_there = report.predicted || order == &report.placed;
        const auto wanted = usize(is_there ? num_ranks : 0);
        if (order->ranks.size() != wanted) {
            return invalid_argument("an order has {} ranks, the mesh {}", order->ranks.size(),
                                    num_ranks);
        }
        if (order->phases.size() != report.traffic.size()) {
            return invalid_argument("an order has {} phases, the step {}", order->phases.size(),
                                    report.traffic.size());
        }
    }
    for (const GroupReport& group : report.groups) {
        bool is_wrong = wrong(group.phase, report.traffic.size());
        for (const int rank : group.ranks)
            is_wrong = is_wrong || wrong(rank, report.placed.ranks.size());
        for (const int rank : {group.slowest.from, group.slowest.to})
            is_wrong = is_wrong || wrong(rank, report.placed.ranks.size());
        if (is_wrong) return invalid_argument("a group names a phase or a rank that is not there");
    }
    return {};
}

}  // namespace

pb::PlacementReport to_proto(const PlacementReport& report) {
    return proto_of<pb::PlacementReport>(report);
}

Result<PlacementReport> from_proto(const pb::PlacementReport& report) {
    RM_TRY(PlacementReport out, value_from<PlacementReport>(report));
    RM_RETURN_IF_ERROR(check_numbers(out));
    return out;
}

}  // namespace rm
