#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "service/security/client_authority.h"
#include "service/security/pki.h"
#include "service/security/reloaded_file.h"
#include "service/security/role.h"
#include "service/security/tokens.h"

// Identifies callers on every transport: the one place that verifies credentials, for gRPC and HTTP
// alike.
namespace rm {

enum class CallTransport { unix_socket, loopback, tls };

// The credentials that a call presented.
struct Presented {
    CallTransport transport = CallTransport::tls;
    std::string certificate;    // PEM, its key proven in the handshake; empty: none
    std::string authorization;  // the header; empty: none
};

struct Principal {
    std::string name;
    Role role = Role::viewer;
    std::string credential;  // "certificate 1F2E", "token", "unix socket", "loopback"
    bool of_nodes = false;   // its certificate comes from the authority for nodes

    bool is_local() const { return credential == kUnixSocket || credential == kLoopback; }
    static constexpr std::string_view kUnixSocket = "unix socket";
    static constexpr std::string_view kLoopback = "loopback";
};

// Paths; empty: there is none. Lists are read again when they change.
struct AuthenticatorFiles {
    std::string client_ca;
    std::string deny_list;
    std::string tokens;
    std::string node_authority;  // its certificates are workers', whatever they say
};

// Credentials that a controller has itself issued, and may have taken back. Thread safe.
class IssuedCredentials {
public:
    virtual ~IssuedCredentials() = default;
    // The id of the join token with this hash_token(). A token that has expired or is used up has
    // one, too: Join refuses it.
    virtual std::optional<std::string> join_token(const std::string& hash) const = 0;
    // UNAUTHENTICATED says why this certificate of the authority for nodes counts no more.
    virtual Status check_certificate(const CertificateFacts& facts) const = 0;
};

// Default deny. A token, where one is given, decides, else the certificate; both name a role. With
// neither: a caller that can open the Unix socket is admin (the file's mode decides); on loopback
// every caller is admin, unless there is a token file, which makes tokens mandatory; over TLS the
// caller is refused. Thread safe.
class Authenticator {
public:
    // Every file is read once, so that a mistake in one shows at the start.
    // `issued` outlives the object; null: there are no such credentials.
    static Result<std::unique_ptr<Authenticator>> open(const AuthenticatorFiles& files,
                                                       const IssuedCredentials* issued = nullptr);

    // UNAUTHENTICATED with the reason.
    Result<Principal> identify(const Presented& presented, WallTime now) const;

private:
    Authenticator() = default;
    Status load_authorities(const AuthenticatorFiles& files);
    Result<Principal> by_token(const std::string& authorization, WallTime now) const;
    Result<Principal> by_join_token(std::string_view token) const;
    Result<Principal> by_certificate(const std::string& pem, WallTime now) const;
    Status check_not_denied(const CertificateFacts& facts) const;
    Result<Principal> by_place(CallTransport transport) const;

    const IssuedCredentials* issued_ = nullptr;
    std::optional<ClientAuthority> authority_;
    std::string node_authority_serial_;
    std::optional<ReloadedFile<DenyList>> deny_list_;
    std::optional<ReloadedFile<Tokens>> tokens_;
};

// Whether a worker's certificate of this name speaks for the node: the same, or "rack1-*" for every
// id that begins with "rack1-".
bool speaks_for(const std::string& name, const std::string& node_id);

}  // namespace rm
