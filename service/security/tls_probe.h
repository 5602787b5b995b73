#pragma once

#include <optional>
#include <string>

#include "service/security/client_security.h"

namespace rm {

// Asked when a call got no connection: looks at the address once more and says whether the two
// sides disagree about TLS, or the server's certificate is not one that is believed. Nothing when
// it finds no such reason (nobody listens, or all is well). Takes at most a few seconds and sends
// no credential. FAILED_PRECONDITION: to try again does not help.
std::optional<Error> why_no_connection(const std::string& address, const ClientSecurity& security);

}  // namespace rm
