#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "service/security/client_security.h"

namespace rm {

// The identity that a worker keeps in its state directory.
struct Identity {
    NodeId node;        // made at the first start; cloned machines differ by it
    ClusterId cluster;  // empty: never joined one
    Epoch highest_epoch;
    bool operator==(const Identity&) const = default;
};

// Makes and keeps a new identity when the file is missing; DATA_LOSS when it cannot be read,
// because a worker that forgets its highest epoch is no longer fenced. `name` is that of the
// worker's certificate, which says for which nodes it speaks: a new node takes it as its id; if it
// ends in *, the id is the prefix followed by a part of its own. Empty: no certificate.
// FAILED_PRECONDITION when the name does not cover the node in the file.
Result<Identity> load_identity(const std::string& path, const std::string& name = "");
// The name in the certificate that `security` has; empty: it has none.
Result<std::string> certified_name(const ClientSecurity& security);
Status save_identity(const std::string& path, const Identity& identity);  // durable when OK

}  // namespace rm
