#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "service/address.h"

// How a worker that has only a fingerprint finds the authority to trust.
namespace rm {

struct ChainWanted {
    std::string fingerprint;  // of the authority: sha256:HEX
    std::string name;         // that the server's certificate must have: a host or an IP address
    WallTime now;
};

// "sha256:" and 64 lower-case hexadecimal digits; accepts upper case. INVALID_ARGUMENT otherwise.
Result<std::string> parse_fingerprint(const std::string& text);

// Asks the server for its certificates without trusting it, and sends it nothing: the authority
// with the wanted fingerprint, in PEM, if it has signed the server's certificate for the wanted
// name. UNAVAILABLE: nothing listens, try again. FAILED_PRECONDITION: it is another server, or it
// does not speak TLS.
Result<std::string> find_authority(const HostPort& server, const ChainWanted& wanted);

}  // namespace rm
