#pragma once

#include <span>

#include "engine/schedule/clock.h"
#include "spec/mesh.h"
#include "topology/routes.h"

namespace rm {

// The link that each group of ranks (GroupKey) sees where its messages go over these routes: what a
// transfer of the group gets while all groups of its kind transfer, by the slowest of them.
// `placement` is indexed by rank.
LinkSpeeds group_links(const Routes& routes, const Mesh& mesh, std::span<const Endpoint> placement);

}  // namespace rm
