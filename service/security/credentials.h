#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <string_view>

#include "service/grpc/grpc_util.h"
#include "service/security/authenticator.h"
#include "service/security/client_security.h"

namespace rm {

// The one place where a client's credentials are made, of whatever kind: plain on Unix sockets and
// loopback, TLS with `ca`, and a token on either. INVALID_ARGUMENT or the file's error when the
// address and the files do not go together or cannot be read.
Result<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(
    std::string_view address, const ClientSecurity& security);

// Credentials of one listener. With a gatekeeper every call passes it, whatever the transport: on
// Unix sockets and loopback by gRPC's local credentials, which are plain text on the wire, over TLS
// with a client certificate that is asked for and not judged in the handshake, where a refusal
// would reach the caller as a lost connection.
Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(const std::string& listener,
                                                                    CallTransport transport,
                                                                    const ServerSecurity& security);

}  // namespace rm
