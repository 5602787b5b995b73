#include "service/security/client_security.h"

#include <netdb.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "base/os/unique_fd.h"
#include "service/security/openssl.h"

namespace rm {
namespace {

constexpr timeval kLimit{.tv_sec = 2, .tv_usec = 0};
constexpr unsigned char kHttp2[] = {2, 'h', '2'};  // ALPN

// The outcome of a handshake.
struct Seen {
    bool connected = false;  // a server listens
    bool is_tls = false;     // and has shaken hands
    bool is_plain = false;   // or has answered with something else
    long verdict = X509_V_OK;
};

std::string expected_name(const HostPort& address, const ClientSecurity& security) {
    return security.server_name.empty() ? address.host : security.server_name;
}

Seen handshake(const HostPort& address, const ClientSecurity& security) {
    const UniqueFd socket = connect_briefly(address);
    if (!socket) return {};
    const openssl::Context context(SSL_CTX_new(TLS_client_method()));
    // Reads the verdict afterwards; sends nothing that depends on it.
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    if (!security.ca.empty()) {
        SSL_CTX_load_verify_locations(context.get(), security.ca.c_str(), nullptr);
    }
    SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2);
    const openssl::Connection tls(SSL_new(context.get()));
    openssl::expect_name(tls.get(), expected_name(address, security));
    SSL_set_fd(tls.get(), socket.get());
    Seen seen{.connected = true};
    const int result = SSL_connect(tls.get());
    seen.is_tls = result == 1;
    seen.is_plain = SSL_get_error(tls.get(), result) == SSL_ERROR_SSL;
    seen.verdict = SSL_get_verify_result(tls.get());
    ERR_clear_error();
    return seen;
}

template <typename... Args>
Error mismatch(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::failed_precondition, pattern, args...);
}

Error not_believed(const std::string& address, const std::string& name,
                   const ClientSecurity& security, long verdict) {
    const bool other_name =
        verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH;
    if (other_name) {
        return mismatch(
            "the certificate of the controller at {} is not for '{}'; give the name it has with "
            "--server-name, or issue one with --san {}",
            address, name, name);
    }
    return mismatch("{} did not sign the certificate of the controller at {}: {}", security.ca,
                    address, X509_verify_cert_error_string(verdict));
}

}  // namespace

// Its send timeout limits connect(), too.
UniqueFd connect_briefly(const HostPort& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(address.port);
    if (::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return {};
    const std::unique_ptr<addrinfo, openssl::Free<freeaddrinfo>> owner(found);
    UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kLimit, sizeof kLimit);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kLimit, sizeof kLimit);
    if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) return {};
    return socket;
}

std::optional<Error> why_no_connection(const std::string& address, const ClientSecurity& security) {
    const auto parsed = parse_host_port(address);
    if (address.starts_with("unix:") || !parsed) return std::nullopt;
    const Seen seen = handshake(*parsed, security);
    if (!seen.connected) return std::nullopt;
    const bool wants_tls = security.wire() == Wire::tls;
    if (seen.is_tls && !wants_tls) {
        return mismatch(
            "the controller at {} speaks TLS; give its authority with --ca FILE (or `ca` of a "
            "context), and a token file or a certificate",
            address);
    }
    if (seen.is_plain && wants_tls) {
        return mismatch(
            "the controller at {} does not speak TLS; leave out --ca (and `ca` of the "
            "context), or ask for a controller with --tls-cert",
            address);
    }
    if (!wants_tls || !seen.is_tls || seen.verdict == X509_V_OK) return std::nullopt;
    return not_believed(address, expected_name(*parsed, security), security, seen.verdict);
}

}  // namespace rm
