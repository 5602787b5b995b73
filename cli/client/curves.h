#pragma once

#include <cstdint>
#include <string>

#include "cli/client/client.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

namespace rm {

// Every page of a request for curves, as one reply.
Result<pb::StepsReply> read_curves(const Client& client, pb::StepsRequest request);

// One quantity of rank 0 from a step on, thinned to so many points; empty where there is none yet.
Result<pb::Curve> read_curve(const Client& client, const std::string& id,
                             const std::string& quantity, std::int64_t from_step, int max_points);

}  // namespace rm
