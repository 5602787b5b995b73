#include "base/os/disk_space.h"

#include <sys/statvfs.h>

namespace rm {

std::optional<DiskSpace> disk_space(const std::string& path) {
    struct statvfs system {};
    if (::statvfs(path.c_str(), &system) != 0) return std::nullopt;
    const auto block = static_cast<std::int64_t>(system.f_frsize);
    return DiskSpace{{block * static_cast<std::int64_t>(system.f_bavail)},
                     {block * static_cast<std::int64_t>(system.f_blocks)}};
}

}  // namespace rm
