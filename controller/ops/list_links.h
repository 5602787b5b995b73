#pragma once

#include <string>
#include <vector>

#include "controller/loops/survey_loop.h"
#include "ringmaster/v1/topology.pb.h"

namespace rm {

namespace pb = ringmaster::v1;

struct KnownNode {
    NodeId id;
    std::string hostname;
};

// One page of what surveys have found of `known`, which are in order of registration. ABORTED: the
// token is of another survey.
Result<pb::LinksReply> links_page(const std::vector<KnownNode>& known, const SurveyView& view,
                                  const pb::LinksRequest& request);

}  // namespace rm
