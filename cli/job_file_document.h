#pragma once

namespace rm {

// docs/formats/job_file.md of this build; the source is made of it by CMake.
extern const char* const kJobFileDocument;

}  // namespace rm
