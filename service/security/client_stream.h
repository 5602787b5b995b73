#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "service/security/client_security.h"

namespace rm {

// Bytes to and from a server, for callers that are not gRPC: plain, or over TLS with the same trust
// and the same certificate as there. Calls block.
class ClientStream {
public:
    // UNAVAILABLE: nothing listens, or the handshake failed; the message has the reason.
    static Result<std::unique_ptr<ClientStream>> open(const HostPort& address,
                                                      const ClientSecurity& security);
    virtual ~ClientStream() = default;

    virtual bool write(std::string_view bytes) = 0;      // false: the other side is gone
    virtual std::size_t read(std::span<char> into) = 0;  // 0: it has ended
    // From any thread: calls that block return, and later ones fail.
    virtual void shut_down() = 0;
};

}  // namespace rm
