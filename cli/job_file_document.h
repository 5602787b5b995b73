#pragma once

namespace rm {

// docs/formats/job_file.md of this build; CMake generates the source.
extern const char* const kJobFileDocument;

}  // namespace rm
