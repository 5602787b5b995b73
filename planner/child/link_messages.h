#pragma once

#include "ringmaster/v1/planning.pb.h"
#include "service/convert.h"
#include "topology/links.h"

namespace rm {

void fill(pb::PlanningLinks& out, const LinkGraph& graph);
// DATA_LOSS where it is no valid graph.
Result<LinkGraph> links_from(const pb::PlanningLinks& links);

}  // namespace rm
