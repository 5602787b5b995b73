#pragma once

#include <grpcpp/server_context.h>

#include "base/ids.h"
#include "service/security/gatekeeper.h"
#include "service/security/grpc_auth.h"

namespace rm {

// Who is behind a call the gatekeeper has admitted: judged again, so UNAUTHENTICATED once the
// credential has expired or was revoked since.
inline Result<Principal> caller_of(const grpc::ServerContextBase& context,
                                   const Gatekeeper& gatekeeper) {
    return gatekeeper.identify(presented_by(context));
}

// PERMISSION_DENIED when a worker's credential is not for this node. Others pass: what they may
// call is a matter of their role.
Status check_speaks_for(const Principal& caller, const NodeId& node);

}  // namespace rm
