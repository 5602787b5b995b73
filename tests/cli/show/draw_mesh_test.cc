#include <gtest/gtest.h>

#include <sstream>

#include "cli/show/placement_text.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

// Ranks in order on nodes n0, n1, ... with this many devices each.
pb::Attempt attempt_of(const Mesh& mesh, int zero, int devices_per_node) {
    pb::Attempt attempt;
    *attempt.mutable_mesh() = to_proto(mesh);
    attempt.set_zero(zero);
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
        pb::Placement& place = *attempt.add_placement();
        place.set_node_id(format("n{}", rank / devices_per_node));
        place.set_device(rank % devices_per_node);
    }
    return attempt;
}

std::string drawn(const pb::Attempt& attempt) {
    std::ostringstream out;
    draw_mesh({out}, attempt);
    return out.str();
}

TEST(DrawMesh, ShowsWhatEachAxisCutsAndWhichNodesHoldIt) {
    EXPECT_EQ(
        drawn(attempt_of(Mesh::make(2, 4, 2, 2, 2).value(), 3, 8)),
        "  data 2 x ring 4 (2 of 2) x ulysses 2 x tensor 2, ZeRO-3, 32 ranks on 4 nodes\n"
        "  AXIS     SIZE  CUTS                                          CROSSES-NODES\n"
        "  data        2  the sequences of a step                       yes\n"
        "  ring        4  the tokens of a sequence, in 2 rings of 2     only between inner rings\n"
        "  ulysses     2  the heads in attention, the tokens elsewhere  no\n"
        "  tensor      2  the weights of each layer                     no\n"
        "  ZeRO-3     16  the optimizer's state, gradients and weights  yes\n"
        "\n"
        "  NODE  DEVICES  RANKS  DATA  RING  ULYSSES  TENSOR\n"
        "  n0    0-7      0-7    0     0-1   0-1      0-1\n"
        "  n1    0-7      8-15   0     2-3   0-1      0-1\n"
        "  n2    0-7      16-23  1     0-1   0-1      0-1\n"
        "  n3    0-7      24-31  1     2-3   0-1      0-1\n");
}

TEST(DrawMesh, LeavesOutAxesOfSizeOne) {
    EXPECT_EQ(drawn(attempt_of(Mesh::make(1, 2, 1, 1).value(), 0, 2)),
              "  ring 2, 2 ranks on 1 node\n"
              "  AXIS  SIZE  CUTS                      CROSSES-NODES\n"
              "  ring     2  the tokens of a sequence  no\n"
              "\n"
              "  NODE  DEVICES  RANKS  RING\n"
              "  n0    0-1      0-1    0-1\n");
    EXPECT_EQ(drawn(attempt_of(Mesh(), 0, 1)),
              "  one rank\n"
              "  NODE  DEVICES  RANKS\n"
              "  n0    0        0\n");
}

TEST(DrawMesh, SaysWhenInnerRingsCrossNodesToo) {
    EXPECT_EQ(drawn(attempt_of(Mesh::make(1, 8, 1, 1, 4).value(), 1, 2)),
              "  ring 8 (2 of 4), ZeRO-1, 8 ranks on 4 nodes\n"
              "  AXIS    SIZE  CUTS                                       CROSSES-NODES\n"
              "  ring       8  the tokens of a sequence, in 2 rings of 4  yes, inner rings too\n"
              "  ZeRO-1     8  the optimizer's state                      yes\n"
              "\n"
              "  NODE  DEVICES  RANKS  RING\n"
              "  n0    0-1      0-1    0-1\n"
              "  n1    0-1      2-3    2-3\n"
              "  n2    0-1      4-5    4-5\n"
              "  n3    0-1      6-7    6-7\n");
}

TEST(DrawMesh, DrawsTheManyNodesInTheMiddleOfALargeMeshAsOneLine) {
    EXPECT_EQ(drawn(attempt_of(Mesh::make(4, 32, 2, 4).value(), 2, 8)),
              "  data 4 x ring 32 x ulysses 2 x tensor 4, ZeRO-2, 1024 ranks on 128 nodes\n"
              "  AXIS     SIZE  CUTS                                          CROSSES-NODES\n"
              "  data        4  the sequences of a step                       yes\n"
              "  ring       32  the tokens of a sequence                      yes\n"
              "  ulysses     2  the heads in attention, the tokens elsewhere  no\n"
              "  tensor      4  the weights of each layer                     no\n"
              "  ZeRO-2    256  the optimizer's state and gradients           yes\n"
              "\n"
              "  NODE         DEVICES  RANKS      DATA  RING  ULYSSES  TENSOR\n"
              "  n0           0-7      0-7        0     0     0-1      0-3\n"
              "  n1           0-7      8-15       0     1     0-1      0-3\n"
              "  n2           0-7      16-23      0     2     0-1      0-3\n"
              "  n3           0-7      24-31      0     3     0-1      0-3\n"
              "  n4           0-7      32-39      0     4     0-1      0-3\n"
              "  n5           0-7      40-47      0     5     0-1      0-3\n"
              "  n6           0-7      48-55      0     6     0-1      0-3\n"
              "  n7           0-7      56-63      0     7     0-1      0-3\n"
              "  (119 nodes)  0-7      64-1015    0-3   0-31  0-1      0-3\n"
              "  n127         0-7      1016-1023  3     31    0-1      0-3\n");
}

TEST(DrawMesh, DrawsRanksWhereTheyAreInWhateverOrder) {
    pb::Attempt attempt = attempt_of(Mesh::make(2, 2, 1, 1).value(), 0, 2);
    attempt.mutable_placement(1)->set_node_id("n1");
    attempt.mutable_placement(3)->set_node_id("n0");
    EXPECT_NE(drawn(attempt).find("  n0    0-1      0,3    0-1   0-1\n"), std::string::npos)
        << drawn(attempt);
}

TEST(DrawMesh, DrawsNothingOfAnAttemptThatDoesNotAddUp) {
    pb::Attempt attempt = attempt_of(Mesh::make(1, 4, 1, 1).value(), 0, 1);
    attempt.mutable_placement()->RemoveLast();
    EXPECT_EQ(drawn(attempt), "");
}

}  // namespace
}  // namespace rm
