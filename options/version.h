#pragma once

// In a source of its own, so that another version compiles one file and links the programs.
namespace rm {

// "0.1.0", or what -DRM_VERSION said, such as "0.1.0~git687.be0d4a5e" (scripts/version).
const char* version();

}  // namespace rm
