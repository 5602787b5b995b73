#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/job_spec.h"

namespace rm {

// Reads a job file (format: docs/formats/job_file.md) and validates it as far as that is possible
// without a cluster. Errors are INVALID_ARGUMENT and begin with "file:line:column: ", both from 1.
// Reports all errors at once, one per line. Relative paths in the file (data.path, checkpoint.dir)
// are resolved against `base_directory`; when that is empty they stay as they are. The text is
// limited to 1 MiB and 16 levels. `overrides` are "key.path=value", stronger than the file; an
// error in one begins with "--set key.path=value: ".
Result<JobSpec> parse_job_file(std::string_view text, std::string_view file_name,
                               const std::string& base_directory = {},
                               std::span<const std::string> overrides = {});

}  // namespace rm
