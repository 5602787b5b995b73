#pragma once

#include <string>

namespace rm {

// The JSON Schema (draft 2020-12) of a job file, for editors and validators. A YAML value counts as
// what YAML 1.2 makes of it: `8K` is a string, `8192` an integer.
std::string job_schema();

}  // namespace rm
