#pragma once

#include <cstddef>

#include "controller/curves/chunk.h"

namespace rm {

// Appends what of a part the eye would see at a lower resolution: of each `group` points that
// follow each other the lowest and the highest, in their order, and every one that is not finite;
// of the part its first and last point. Largest triangles of these look like those of all points.
// Van Der Donckt et al., MinMaxLTTB: Leveraging MinMax-Preselection to Scale LTTB, 2023.
void append_extremes(const CurveLine& part, std::size_t group, CurveLine& to);

}  // namespace rm
