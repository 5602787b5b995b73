#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace rm {

struct CertificateFacts {
    std::string name;       // CN
    std::string unit;       // OU
    std::string serial;     // upper-case hexadecimal
    bool of_nodes = false;  // signed by the authority for nodes
};

// The authorities whose client certificates are trusted. Thread safe.
class ClientAuthority {
public:
    // One certificate or more, in PEM, and that of the authority for nodes; either may be empty.
    static Result<ClientAuthority> parse(std::string_view pem, std::string_view of_nodes = "");
    ~ClientAuthority();
    ClientAuthority(ClientAuthority&&) noexcept;
    ClientAuthority& operator=(ClientAuthority&&) noexcept;

    // Signature, chain, purpose and time. UNAUTHENTICATED says what is wrong; it repeats nothing
    // that the certificate says of itself before its signature has been found good. A certificate
    // that was found good is, within the time its whole chain is valid for, not computed again:
    // workers show theirs with every message.
    Result<CertificateFacts> verify(std::string_view pem, WallTime now) const;

private:
    struct Impl;
    Result<CertificateFacts> examine(std::string_view pem, WallTime now) const;
    explicit ClientAuthority(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
