#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "service/grpc_util.h"
#include "service/security/authenticator.h"

namespace rm {

// Credentials of one listener. With a gatekeeper every call passes it, whatever the transport: on
// Unix sockets and loopback by gRPC's local credentials, which are plain text on the wire, over TLS
// with a client certificate that is asked for and not judged in the handshake, where a refusal
// would reach the caller as a lost connection.
Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(const std::string& listener,
                                                                    CallTransport transport,
                                                                    const ServerSecurity& security);

}  // namespace rm
