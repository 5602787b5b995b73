#pragma once

#include <optional>
#include <string>

#include "service/security/client_security.h"

namespace rm {

// Called when a call got no connection: probes the address again and says whether the two sides
// disagree about TLS, or the server's certificate is not trusted. nullopt if it finds no such
// reason (no listener, or all is well). Takes at most a few seconds and sends no credential.
// FAILED_PRECONDITION: retrying does not help.
std::optional<Error> why_no_connection(const std::string& address, const ClientSecurity& security);

}  // namespace rm
