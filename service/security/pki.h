#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
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

// An authority below `authority` that can make certificates of clients alone: the controller holds
// its key, and takes what it signs for workers' (ClientAuthority).
Result<KeyPair> make_node_authority(const KeyPair& authority, const std::string& name, WallTime now,
                                    int days);

// A key in PEM, and a request (PKCS #10) for a certificate of it, which names nothing.
Result<std::string> make_private_key();
Result<std::string> make_signing_request(std::string_view key);
// SHA-256 of the public key in a request, in hexadecimal. INVALID_ARGUMENT: it is not signed by
// that key, or the key is weaker than P-256.
Result<std::string> requested_key(std::string_view request);

struct NodeOrder {
    std::string name;  // the node's id
    WallTime now;
    Seconds lifetime;
};
// A worker's certificate for the key of a request; nothing else of the request counts.
Result<std::string> issue_for_node(const KeyPair& authority, std::string_view request,
                                   const NodeOrder& order);

// sha256:HEX of the first certificate in `pem` (of its DER form).
Result<std::string> fingerprint_of(std::string_view pem);
// The last certificate of a chain. FAILED_PRECONDITION: it is not an authority that signed itself.
Result<std::string> authority_in(std::string_view chain);
// The first name or address in a server's certificate; empty: it has none.
Result<std::string> first_host_of(std::string_view pem);

struct Lifetime {
    WallTime from;  // when it was made
    WallTime until;
};
Result<Lifetime> lifetime_of(std::string_view pem);

// The serial of the first certificate in `pem`: upper-case hexadecimal, as in the deny list; and
// its CN.
Result<std::string> serial_of(std::string_view pem);
Result<std::string> name_of(std::string_view pem);

// A certificate (or chain, its own first) and the key that belongs to it. INVALID_ARGUMENT names
// the file that is wrong, or both when they do not belong together.
Result<KeyPair> read_key_pair(const std::string& certificate_path, const std::string& key_path);

// Serial numbers of certificates that are not accepted any more.
using DenyList = std::set<std::string>;

// One serial in hexadecimal per line, in any case, and `#` comments. Anything else is an error that
// names the line: a list that is half read denies too little.
Result<DenyList> parse_deny_list(std::string_view text, std::string_view file_name);

// Upper case, without leading zeros; INVALID_ARGUMENT for what is not hexadecimal.
Result<std::string> normal_serial(std::string_view text);

}  // namespace rm
