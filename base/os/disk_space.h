#pragma once

#include <optional>
#include <string>

#include "base/units.h"

namespace rm {

struct DiskSpace {
    Bytes free;  // for a user without privileges
    Bytes capacity;
};
// Looks at the file system that holds the file or directory. Nothing: it cannot be read, and
// `errno` says why.
std::optional<DiskSpace> disk_space(const std::string& path);

}  // namespace rm
