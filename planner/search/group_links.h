#pragma once

#include <span>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/schedule/clock.h"
#include "spec/mesh.h"
#include "topology/routes.h"

namespace rm {

// The link that each group of ranks (GroupKey) sees where its messages go over these routes: what a
// transfer of the group gets while all groups of its kind transfer, by the slowest of them; and how
// much less while those of another kind transfer too, max-min fairly.
// `placement` is indexed by rank.
LinkSpeeds group_links(const Routes& routes, const Mesh& mesh, std::span<const Endpoint> placement);

// The groups among whose waits are those for the messages of an axis (CommPhase). The world's
// messages are short: compute waits for them behind sums of gradients.
std::vector<GroupKey> keys_of(Axis axis);

}  // namespace rm
