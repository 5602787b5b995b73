#pragma once

#include <string>

#include "base/result.h"
#include "ringmaster/v1/spec.pb.h"
#include "service/convert.h"

namespace rm {

// A job file ("-": stdin) as the message to submit, its text kept byte for byte. Relative paths in
// it are taken from the working directory.
Result<pb::JobSpec> read_job_file(const std::string& path);

}  // namespace rm
