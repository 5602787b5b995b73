#pragma once

#include <string>

namespace rm {

// The body of a GET; empty when there is no answer with status 200.
std::string http_get(const std::string& host_port, const std::string& path);

}  // namespace rm
