#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "service/security/role.h"

// A small certificate authority: X.509 v3 (RFC 5280), ECDSA with P-256 and SHA-256. Everything is
// PEM text; files are the caller's. A certificate says who it is for in its subject: CN is the name
// (of a worker: its node id), OU the role, or "server".
namespace rm {

struct KeyPair {
    std::string certificate;
    std::string key;  // PKCS#8, not encrypted: its file is for its owner alone
};

// Valid from 5 minutes before `now`, for clocks that differ.
Result<KeyPair> make_authority(const std::string& name, WallTime now, int days);

struct CertificateOrder {
    std::string name;
    std::optional<Role> role;                // none: a server's
    std::vector<std::string> subject_names;  // host names and IP addresses a server answers to
    int days = 365;
};
Result<KeyPair> issue(const KeyPair& authority, const CertificateOrder& order, WallTime now);

// The serial of the first certificate in `pem`: upper-case hexadecimal, as in the deny list; and
// its CN.
Result<std::string> serial_of(std::string_view pem);
Result<std::string> name_of(std::string_view pem);

}  // namespace rm
