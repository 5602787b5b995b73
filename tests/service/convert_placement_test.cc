#include <gtest/gtest.h>

#include "ringmaster/v1/topology.pb.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

PlacementReport two_ranks() {
    PlacementReport report;
    report.mesh = Mesh::make(1, 2, 1, 1).value();
    report.zero = 2;
    report.hosts = {{{"a"}, "host-a", "10.0.0.1"}};
    report.predicted = true;
    report.traffic = {{Axis::ring, Pattern::ring, {1000}, 3, {500}},
                      {Axis::ulysses, Pattern::all_to_all, {2000}, 4}};
    report.placed = {{{{"a"}, 0}, {{"b"}, 1}}, {0.5}, {{{0.4}, "link a -> b"}, {{0.1}, ""}}};
    report.registration = {{{{"b"}, 1}, {{"a"}, 0}}, {0.6}, {{{0.5}, "egress of b"}, {{0.1}, ""}}};
    report.by_node = {{{{"c"}, 1}, {{"a"}, 0}}, {0.7}, {{{0.6}, ""}, {{0.1}, "x"}}};
    report.groups = {{1, {0, 1}, {1, 0, 1000}, "limit of one flow", {0.4}}};
    report.degraded = {{{"a"}, {"b"}, {1}, {10}, {1'000'001}}};
    return report;
}

TEST(ConvertPlacement, LosesNothingOnTheWay) {
    EXPECT_EQ(from_proto(to_proto(two_ranks())).value(), two_ranks());
    PlacementReport unmeasured;
    unmeasured.mesh = two_ranks().mesh;
    unmeasured.placed.ranks = two_ranks().placed.ranks;
    EXPECT_EQ(from_proto(to_proto(unmeasured)).value(), unmeasured);
}

std::string error_of(const pb::PlacementReport& wire) {
    const auto report = from_proto(wire);
    return report ? "" : report.error().message;
}

TEST(ConvertPlacement, RefusesWhatDoesNotFitTogether) {
    pb::PlacementReport wire = to_proto(two_ranks());
    wire.mutable_by_node()->mutable_ranks()->RemoveLast();
    EXPECT_EQ(error_of(wire), "an order has 1 ranks, the mesh 2");
    wire = to_proto(two_ranks());
    wire.mutable_placed()->add_phases();
    EXPECT_EQ(error_of(wire), "an order has 3 phases, the step 2");
    wire = to_proto(two_ranks());
    wire.mutable_groups(0)->set_to(2);
    EXPECT_EQ(error_of(wire), "a group names a phase or a rank that is not there");
    wire = to_proto(two_ranks());
    wire.mutable_groups(0)->set_phase(2);
    EXPECT_EQ(error_of(wire), "a group names a phase or a rank that is not there");
    wire = to_proto(two_ranks());
    wire.mutable_phases(0)->set_axis("depth");
    EXPECT_EQ(error_of(wire), "axis 'depth' is not known; data, ring, ulysses or tensor");
    wire = to_proto(two_ranks());
    wire.mutable_phases(0)->set_pattern("star");
    EXPECT_EQ(error_of(wire), "pattern 'star' is not known; ring or all_to_all");
}

}  // namespace
}  // namespace rm
