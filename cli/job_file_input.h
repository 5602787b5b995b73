#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ringmaster/v1/spec.pb.h"
#include "service/convert.h"

namespace rm {

// A job file ("-": stdin) as the message to submit, its text kept byte for byte. Relative paths in
// it are resolved against the working directory. `overrides` are those of `submit --set`, stronger
// than the file; comments below the kept text name them.
Result<pb::JobSpec> read_job_file(const std::string& path,
                                  const std::vector<std::string>& overrides = {});

}  // namespace rm
