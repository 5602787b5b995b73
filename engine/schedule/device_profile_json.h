#pragma once

#include <string>
#include <string_view>

#include "kernels/meta/device_profile.h"

namespace rm {

// docs/formats/device_profile.md. One line to each speed, so that profiles can be compared.
std::string to_json(const DeviceProfile& profile);

// invalid_argument: what is no JSON, a key that is missing, unknown or of another type (by name),
// and what check_profile refuses.
Result<DeviceProfile> device_profile_from_json(std::string_view text);

// Errors name the file.
Result<DeviceProfile> read_device_profile(const std::string& path);
Status write_device_profile(const std::string& path, const DeviceProfile& profile);

}  // namespace rm
