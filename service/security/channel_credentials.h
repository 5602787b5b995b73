#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string_view>

#include "service/security/client_security.h"

namespace rm {

// The one place where a client's credentials are made, of whatever kind: plain on Unix sockets and
// loopback, TLS with `ca`, and a token on either. INVALID_ARGUMENT or the file's error when the
// address and the files do not go together or cannot be read.
Result<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(
    std::string_view address, const ClientSecurity& security);

}  // namespace rm
