#pragma once

#include <grpcpp/server_context.h>

#include "base/ids.h"
#include "service/security/gatekeeper.h"
#include "service/security/grpc_auth.h"

namespace rm {

// Identifies the caller of an admitted call. Checks the credential again: UNAUTHENTICATED if it has
// expired or been revoked since.
inline Result<Principal> caller_of(const grpc::ServerContextBase& context,
                                   const Gatekeeper& gatekeeper) {
    return gatekeeper.identify(presented_by(context));
}

// PERMISSION_DENIED if a worker's credential is not for this node. Other callers pass: their role
// decides what they may call.
Status check_speaks_for(const Principal& caller, const NodeId& node);

}  // namespace rm
