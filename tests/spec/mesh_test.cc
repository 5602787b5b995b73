#include "spec/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Mesh, NumbersRanksWithTensorFastest) {
    const Mesh mesh = Mesh::make(2, 3, 2, 2).value();
    EXPECT_EQ(mesh.num_ranks(), 24);
    EXPECT_EQ(mesh.coords(0), (Mesh::Coords{0, 0, 0, 0}));
    EXPECT_EQ(mesh.coords(1), (Mesh::Coords{0, 0, 0, 1}));
    EXPECT_EQ(mesh.coords(2), (Mesh::Coords{0, 0, 1, 0}));
    EXPECT_EQ(mesh.coords(4), (Mesh::Coords{0, 1, 0, 0}));
    EXPECT_EQ(mesh.coords(12), (Mesh::Coords{1, 0, 0, 0}));
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
        EXPECT_EQ(mesh.rank(mesh.coords(rank)), rank);
        EXPECT_EQ(mesh.coord(rank, Axis::ring), mesh.coords(rank)[1]);
    }
}

TEST(Mesh, GroupsAreInAxisOrder) {
    const Mesh mesh = Mesh::make(2, 3, 1, 2).value();
    EXPECT_THAT(mesh.group(3, Axis::ring), ElementsAre(1, 3, 5));
    EXPECT_THAT(mesh.group(3, Axis::data), ElementsAre(3, 9));
    EXPECT_THAT(mesh.group(3, Axis::tensor), ElementsAre(2, 3));
    EXPECT_THAT(mesh.group(3, Axis::ulysses), ElementsAre(3));
    EXPECT_THAT(mesh.group(3, {Axis::data, Axis::ring, Axis::ulysses}),
                ElementsAre(1, 3, 5, 7, 9, 11));
}

TEST(Mesh, RefusesAnEmptyAxis) {
    const auto mesh = Mesh::make(1, 0, 1, 1);
    ASSERT_FALSE(mesh);
    EXPECT_EQ(mesh.error().message, "mesh.ring: 0 must be 1 or more");
}

TEST(Mesh, HasOneRingUnlessAnInnerOneIsSmaller) {
    const Mesh plain = Mesh::make(1, 6, 1, 1).value();
    EXPECT_EQ(plain.inner_ring(), 6);
    EXPECT_EQ(plain.outer_ring(), 1);
    EXPECT_EQ(Mesh::make(1, 6, 1, 1, 6).value(), plain);
    const Mesh twice = Mesh::make(1, 6, 1, 1, 2).value();
    EXPECT_EQ(twice.inner_ring(), 2);
    EXPECT_EQ(twice.outer_ring(), 3);
    EXPECT_NE(twice, plain);
    EXPECT_EQ(Mesh().inner_ring(), 1);
    EXPECT_EQ(Mesh().outer_ring(), 1);
}

TEST(Mesh, RefusesAnInnerRingThatDoesNotDivideTheRing) {
    const auto message = [](int ring, int inner) {
        return Mesh::make(1, ring, 1, 1, inner).error().message;
    };
    EXPECT_EQ(message(8, 3),
              "mesh.inner_ring: 3 does not divide the ring of 8; the nearest that does: 2 or 4");
    EXPECT_THAT(message(8, 16), HasSubstr("the nearest that does: 8"));
    EXPECT_EQ(message(8, -1), "mesh.inner_ring: -1 must be 1 or more, or 0 for the whole ring");
}

TEST(Mesh, ChecksRanksAndCoordinates) {
    const Mesh mesh = Mesh::make(1, 4, 1, 1).value();
    EXPECT_THROW(mesh.coords(4), CheckError);
    EXPECT_THROW(mesh.coords(-1), CheckError);
    EXPECT_THROW(mesh.rank({0, 4, 0, 0}), CheckError);
}

TEST(Mesh, PrintsTheAxesThatAreUsed) {
    EXPECT_EQ(to_string(Mesh::make(2, 4, 1, 1).value()), "data 2 x ring 4");
    EXPECT_EQ(to_string(Mesh::make(2, 8, 1, 2, 4).value()), "data 2 x ring 8 (2 of 4) x tensor 2");
    EXPECT_EQ(to_string(Mesh::make(1, 8, 1, 1, 8).value()), "ring 8");
    EXPECT_EQ(to_string(Mesh()), "one rank");
}

TEST(CheckMesh, AcceptsAnyDataAndRing) {
    const ModelDims model{.num_query_heads = 8, .num_kv_heads = 2, .feed_forward = 96};
    EXPECT_TRUE(check_mesh(Mesh::make(5, 7, 1, 1).value(), model).ok());
    EXPECT_TRUE(check_mesh(Mesh::make(1, 1, 2, 4).value(), model).ok());
}

TEST(CheckMesh, NamesTheNearestSizesThatFit) {
    const ModelDims model{.num_query_heads = 8, .num_kv_heads = 2, .feed_forward = 96};
    const Status heads = check_mesh(Mesh::make(1, 1, 3, 1).value(), model);
    ASSERT_FALSE(heads.ok());
    EXPECT_THAT(heads.error().message, HasSubstr("ulysses x tensor is 3"));
    EXPECT_THAT(heads.error().message, HasSubstr("2 or 4"));
    const ModelDims odd{.num_query_heads = 8, .num_kv_heads = 2, .feed_forward = 6};
    const Status feed_forward = check_mesh(Mesh::make(1, 1, 1, 4).value(), odd);
    ASSERT_FALSE(feed_forward.ok());
    EXPECT_THAT(feed_forward.error().message, HasSubstr("feed-forward size 6"));
    EXPECT_THAT(feed_forward.error().message, HasSubstr("3 or 6"));
}

TEST(PaddedLength, IsTheNextMultipleOfTheMesh) {
    const Mesh ring4 = Mesh::make(1, 4, 1, 1).value();
    EXPECT_EQ(padded_length(8192, ring4).value(), 8192);
    EXPECT_EQ(padded_length(8190, ring4).value(), 8192);
    EXPECT_EQ(padded_length(65536, Mesh::make(2, 5, 2, 1).value()).value(), 65600);
    EXPECT_EQ(padded_length(8193, Mesh::make(7, 1, 1, 1).value()).value(), 8224)
        << "the data axis does not cut the sequence";
}

TEST(PaddedLength, RefusesWasteAndNamesTheNearestContexts) {
    const Mesh ring4 = Mesh::make(1, 4, 1, 1).value();
    const auto wasteful = padded_length(140, ring4);
    ASSERT_FALSE(wasteful);
    EXPECT_EQ(wasteful.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(wasteful.error().message, HasSubstr("140"));
    EXPECT_THAT(wasteful.error().message, HasSubstr("ring 4"));
    EXPECT_THAT(wasteful.error().message, HasSubstr("128 or 256"));
    const auto tiny = padded_length(10, ring4);
    ASSERT_FALSE(tiny);
    EXPECT_THAT(tiny.error().message, HasSubstr("waste: 128"));
    EXPECT_FALSE(padded_length(0, ring4));
    EXPECT_FALSE(padded_length(-5, ring4));
}

}  // namespace
}  // namespace rm
