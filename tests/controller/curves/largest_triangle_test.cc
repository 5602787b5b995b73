#include "controller/curves/largest_triangle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace rm::test {
namespace {

std::vector<CurvePoint> noise(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> value;
    std::vector<CurvePoint> points;
    for (std::size_t i = 0; i < count; ++i)
        points.push_back({static_cast<double>(i), value(random)});
    return points;
}

// The definition, without the arithmetic of indices: cuts the inner points into equal buckets.
std::vector<std::size_t> by_definition(const std::vector<CurvePoint>& points, std::size_t count) {
    std::vector<std::vector<std::size_t>> buckets{{0}};
    const std::size_t inner = points.size() - 2;
    for (std::size_t b = 0; b < count - 2; ++b) {
        buckets.emplace_back();
        for (std::size_t i = b * inner / (count - 2); i < (b + 1) * inner / (count - 2); ++i)
            buckets.back().push_back(i + 1);
    }
    buckets.push_back({points.size() - 1});
    std::vector<std::size_t> kept{0};
    for (std::size_t b = 1; b + 1 < buckets.size(); ++b) {
        CurvePoint mean;
        for (const std::size_t i : buckets[b + 1]) {
            mean.x += points[i].x / static_cast<double>(buckets[b + 1].size());
            mean.y += points[i].y / static_cast<double>(buckets[b + 1].size());
        }
        const CurvePoint a = points[kept.back()];
        const auto area = [&](std::size_t i) {
            const CurvePoint p = points[i];
            return std::abs(a.x * (p.y - mean.y) + p.x * (mean.y - a.y) + mean.x * (a.y - p.y));
        };
        kept.push_back(
            *std::max_element(buckets[b].begin(), buckets[b].end(),
                              [&](std::size_t i, std::size_t j) { return area(i) < area(j); }));
    }
    kept.push_back(points.size() - 1);
    return kept;
}

TEST(LargestTriangles, AreThoseOfTheDefinition) {
    for (const auto& [size, count] :
         {std::pair{10, 3}, {10, 9}, {1000, 10}, {1000, 333}, {4097, 64}}) {
        const auto points = noise(static_cast<std::size_t>(size), static_cast<unsigned>(size));
        const auto wanted = static_cast<std::size_t>(count);
        EXPECT_EQ(largest_triangles(points, wanted), by_definition(points, wanted))
            << count << " of " << size;
    }
}

TEST(LargestTriangles, KeepEveryPointWhereThereIsRoom) {
    const auto points = noise(5, 1);
    EXPECT_EQ(largest_triangles(points, 5), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(largest_triangles(points, 99).size(), 5u);
    EXPECT_TRUE(largest_triangles({}, 10).empty());
}

TEST(LargestTriangles, KeepASpikeAndANumberThatIsNone) {
    std::vector<CurvePoint> points;
    for (int i = 0; i < 100'000; ++i)
        points.push_back({static_cast<double>(i), 2.0});
    points[31'415].y = 40;
    points[71'234].y = std::numeric_limits<double>::quiet_NaN();
    points[80'001].y = std::numeric_limits<double>::infinity();
    const auto kept = largest_triangles(points, 200);
    EXPECT_EQ(kept.size(), 200u);
    for (const std::size_t i : {31'415u, 71'234u, 80'001u})
        EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), i)) << i;
}

}  // namespace
}  // namespace rm::test
