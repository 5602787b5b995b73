#pragma once

#include <string>

#include "base/result.h"

namespace rm {

// Whether `address` is a literal IPv4 or IPv6 address this machine can listen on. No name is
// resolved.
Status check_local_address(const std::string& address);

}  // namespace rm
