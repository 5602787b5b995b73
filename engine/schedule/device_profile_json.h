#pragma once

#include <string>
#include <string_view>

#include "kernels/meta/device_profile.h"

namespace rm {

// docs/formats/device_profile.md. One line per speed, so that profiles can be compared.
std::string to_json(const DeviceProfile& profile);

// invalid_argument: the text is not JSON, a key (named) is missing, unknown or of the wrong type,
// or check_profile refuses the profile.
Result<DeviceProfile> device_profile_from_json(std::string_view text);

// Errors name the file.
Result<DeviceProfile> read_device_profile(const std::string& path);
Status write_device_profile(const std::string& path, const DeviceProfile& profile);

}  // namespace rm
