#pragma once

#include <span>

#include "service/security/role.h"

namespace rm {

// Every method of the controller with the role it requires. A test walks a running controller by
// reflection and fails for a method that has no `option (access)` in its .proto.
std::span<const MethodAccess> access_table();

// The pages that only HTTP has; a gRPC method has the same name on HTTP.
constexpr std::string_view kMetricsPage = "/metrics";
constexpr std::string_view kDiscoveryPage = "/api/v1/sd";
constexpr std::string_view kStreamPage = "/api/v1/stream";
constexpr std::string_view kLoginPage = "/api/v1/login";
constexpr std::string_view kLogoutPage = "/api/v1/logout";

}  // namespace rm
