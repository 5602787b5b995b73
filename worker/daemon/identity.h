#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "service/security/client_security.h"

namespace rm {

// What a worker remembers of itself in its state directory.
struct Identity {
    NodeId node;        // made at the first start; cloned machines differ by it
    ClusterId cluster;  // empty: never joined one
    Epoch highest_epoch;
    bool operator==(const Identity&) const = default;
};

// Makes and keeps a new one when the file is missing; DATA_LOSS when it cannot be read, for a
// worker that forgets its highest epoch is not fenced any more. `name` is that of the worker's
// certificate, which says for which nodes it speaks: a new node takes it for its id, or where it
// ends in * what is before that and a part of its own. Empty: there is none. FAILED_PRECONDITION
// when the node of the file is not one of it.
Result<Identity> load_identity(const std::string& path, const std::string& name = "");
// The name in the certificate that `security` has; empty: it has none.
Result<std::string> certified_name(const ClientSecurity& security);
Status save_identity(const std::string& path, const Identity& identity);  // durable when OK

}  // namespace rm
