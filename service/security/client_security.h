#pragma once

#include <string>

#include "service/address.h"

namespace rm {

// Credentials for calling a controller. Paths; empty: none. Secrets are in files, never in
// arguments, environments or addresses.
struct ClientSecurity {
    std::string ca;           // whose server certificates are believed; given: TLS is spoken
    std::string certificate;  // the caller's own; needs `key` and `ca`
    std::string key;
    std::string token_file;   // read again at each call
    std::string server_name;  // what the server's certificate must name instead of the host

    Wire wire() const { return ca.empty() ? Wire::plain : Wire::tls; }
    bool operator==(const ClientSecurity&) const = default;
};

}  // namespace rm
