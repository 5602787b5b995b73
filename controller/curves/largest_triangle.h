#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/curves/chunk.h"

namespace rm {

// A point of a curve.
struct CurvePoint {
    double x = 0;
    double y = 0;  // NaN where a step had no number
};

// The indices, ascending, of `count` points that show the curve's shape: the first, the last and,
// of each bucket between, the point that makes the largest triangle with the one kept before and
// the mean of the next bucket. All points if there are no more than `count`. A point that is not
// finite outranks its whole bucket, so that no NaN is lost.
// Steinarsson, Downsampling Time Series for Visual Representation, 2013.
std::vector<std::size_t> largest_triangles(std::span<const CurvePoint> points, std::size_t count);

// The points of a line that largest_triangles() keeps.
CurveLine thinned(CurveLine line, std::size_t count);

}  // namespace rm
