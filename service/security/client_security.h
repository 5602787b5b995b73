#pragma once

#include <optional>
#include <string>

#include "base/os/unique_fd.h"
#include "service/address.h"

namespace rm {

// Credentials for calling a controller. Paths; empty: none. Secrets are in files, never in
// arguments, environments or addresses.
struct ClientSecurity {
    std::string ca;           // authorities trusted for the server; set: uses TLS
    std::string certificate;  // the caller's own; needs `key` and `ca`
    std::string key;
    std::string token_file;   // read again at each call
    std::string server_name;  // what the server's certificate must name instead of the host

    Wire wire() const { return ca.empty() ? Wire::plain : Wire::tls; }
    bool operator==(const ClientSecurity&) const = default;
};

// A socket whose operations, connecting included, take at most 2 s each; empty: nothing listens.
UniqueFd connect_briefly(const HostPort& address);

// Called when a call got no connection: probes the address again and says whether the two sides
// disagree about TLS, or the server's certificate is not trusted. nullopt if it finds no such
// reason (no listener, or all is well). Takes at most a few seconds and sends no credential.
// FAILED_PRECONDITION: retrying does not help.
std::optional<Error> why_no_connection(const std::string& address, const ClientSecurity& security);

}  // namespace rm
