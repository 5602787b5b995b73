#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "service/security/client_security.h"

namespace rm {

// The identity that a worker keeps in its state directory.
struct Identity {
    NodeId node;        // drawn at the first start; tells cloned machines apart
    ClusterId cluster;  // empty: never joined one
    Epoch highest_epoch;
    bool operator==(const Identity&) const = default;
};

// Creates and saves a new identity when the file is missing; DATA_LOSS when it cannot be read,
// because a worker that forgets its highest epoch is no longer fenced. `name` is the name in the
// worker's certificate, which limits the nodes it speaks for: a new node takes it as its id; if it
// ends in *, the id is the prefix followed by a part unique to the node. Empty: no certificate.
// FAILED_PRECONDITION when the name does not cover the node in the file.
Result<Identity> load_identity(const std::string& path, const std::string& name = "");
// The name in the certificate of `security`; empty: no certificate.
Result<std::string> certified_name(const ClientSecurity& security);
Status save_identity(const std::string& path, const Identity& identity);  // durable when OK

}  // namespace rm
