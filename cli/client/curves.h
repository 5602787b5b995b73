#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/client/client.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"
#include "service/curves/run_files.h"

namespace rm {

// Every page of a request for curves, as one reply.
Result<pb::StepsReply> read_curves(const Client& client, pb::StepsRequest request);

// The curves of one rank by step.
std::map<std::int64_t, CurveRow> rows_of(const pb::StepsReply& reply);
// ",2.81,,0.46": a row's values of these quantities, as the end of a line of CSV.
std::string csv_values(const CurveRow& row, const std::vector<std::string>& quantities);

// One quantity of rank 0 from a step on, thinned to so many points; empty where there is none yet.
Result<pb::Curve> read_curve(const Client& client, const std::string& id,
                             const std::string& quantity, std::int64_t from_step, int max_points);

}  // namespace rm
