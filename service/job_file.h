#pragma once

#include <string>
#include <string_view>

#include "base/job_spec.h"
#include "base/result.h"

namespace rm {

// Reads a job file (format: docs/formats/job_file.md) and validates it as far as that is possible
// without a cluster. Errors are INVALID_ARGUMENT and begin with "file:line:column: ", both from 1.
// Relative paths in the file (data.path, checkpoint.dir) are taken from `base_directory`; when that
// is empty they stay as they are. The text is limited to 1 MiB and 16 levels.
Result<JobSpec> parse_job_file(std::string_view text, std::string_view file_name,
                               const std::string& base_directory = {});

}  // namespace rm
