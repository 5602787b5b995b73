#pragma once

#include <grpcpp/server_context.h>

#include <utility>

#include "base/ids.h"
#include "service/grpc/grpc_util.h"
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
inline Status check_speaks_for(const Principal& caller, const NodeId& node) {
    if (caller.role != Role::worker || speaks_for(caller.name, node.value)) return {};
    return make_error(ErrorCode::permission_denied,
                      "the certificate of '{}' is not valid for node '{}'; issue one whose name "
                      "is the node's id, or a prefix of it followed by *",
                      caller.name, node);
}

// Converts an operation's result into the end of its unary call.
template <typename Reply>
grpc::Status answer(Result<Reply> result, Reply* reply) {
    if (!result) return to_grpc(result.error());
    *reply = *std::move(result);
    return grpc::Status::OK;
}

}  // namespace rm
