#include "controller/curves/largest_triangle.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rm {
namespace {

// Bounds of the buckets between the first and the last point.
struct Buckets {
    std::size_t points = 0;
    std::size_t count = 0;
    std::size_t begin(std::size_t bucket) const { return 1 + bucket * (points - 2) / count; }
    std::size_t end(std::size_t bucket) const { return begin(bucket + 1); }
};

// The mean of the finite points; the first one where none is.
CurvePoint mean_of(std::span<const CurvePoint> points) {
    CurvePoint sum;
    double finite = 0;
    for (const CurvePoint& point : points) {
        if (!std::isfinite(point.y)) continue;
        sum = {sum.x + point.x, sum.y + point.y};
        ++finite;
    }
    if (finite == 0) return {points.front().x, 0};
    return {sum.x / finite, sum.y / finite};
}

double twice_area(const CurvePoint& a, const CurvePoint& b, const CurvePoint& c) {
    return std::abs((a.x - c.x) * (b.y - a.y) - (a.x - b.x) * (c.y - a.y));
}

// The index in the bucket of the point to keep.
std::size_t best_of(std::span<const CurvePoint> bucket, const CurvePoint& before,
                    const CurvePoint& after) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < bucket.size(); ++i) {
        if (!std::isfinite(bucket[i].y)) return i;
        const double area = twice_area(before, bucket[i], after);
        if (area <= most) continue;
        most = area;
        best = i;
    }
    return best;
}

}  // namespace

std::vector<std::size_t> largest_triangles(std::span<const CurvePoint> points, std::size_t count) {
    std::vector<std::size_t> kept;
    if (points.size() <= count || count < 3) {
        kept.resize(std::min(points.size(), count));
        std::iota(kept.begin(), kept.end(), std::size_t{0});
        if (!kept.empty()) kept.back() = points.size() - 1;
        return kept;
    }
    const Buckets buckets{points.size(), count - 2};
    kept.push_back(0);
    CurvePoint before = points.front();
    for (std::size_t i = 0; i < buckets.count; ++i) {
        const bool is_last = i + 1 == buckets.count;
        const std::size_t next_end = is_last ? points.size() : buckets.end(i + 1);
        const CurvePoint after = mean_of(points.subspan(buckets.end(i), next_end - buckets.end(i)));
        const std::size_t begin = buckets.begin(i);
        const auto bucket = points.subspan(begin, buckets.end(i) - begin);
        kept.push_back(begin + best_of(bucket, before, after));
        if (std::isfinite(points[kept.back()].y)) before = points[kept.back()];
    }
    kept.push_back(points.size() - 1);
    return kept;
}

CurveLine thinned(CurveLine line, std::size_t count) {
    if (line.size() <= count) return line;
    std::vector<CurvePoint> points;
    points.reserve(line.size());
    for (std::size_t i = 0; i < line.size(); ++i)
        points.push_back({static_cast<double>(line.steps[i]), line.values[i]});
    CurveLine kept;
    for (const std::size_t i : largest_triangles(points, count))
        kept.add(line.steps[i], line.values[i]);
    return kept;
}

}  // namespace rm
