#pragma once

#include <string>

namespace rm::e2e {

// The body of http://host:port/path; empty when the answer is not 200. `path` is sent unchanged.
std::string http_get(const std::string& host_port, const std::string& path);
std::string url_encoded(const std::string& text);

// A loopback port that has no listener at the moment.
int free_port();

}  // namespace rm::e2e
