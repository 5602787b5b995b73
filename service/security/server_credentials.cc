#include "service/security/server_credentials.h"

#include "service/security/grpc_auth.h"

namespace rm {
namespace {

std::shared_ptr<grpc::ServerCredentials> tls_credentials(const KeyPair& own) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
    options.pem_key_cert_pairs.push_back({own.key, own.certificate});
    return grpc::SslServerCredentials(options);
}

// gRPC's local credentials take only these two to be this machine.
Status check_local(const std::string& listener) {
    const auto address = parse_host_port(listener);
    if (address && (address->host == "127.0.0.1" || address->host == "::1")) return {};
    return invalid_argument("address '{}': without TLS only 127.0.0.1, [::1] and Unix sockets",
                            listener);
}

std::shared_ptr<grpc::ServerCredentials> unguarded(CallTransport transport, const KeyPair* own) {
    return transport == CallTransport::tls ? tls_credentials(*own)
                                           : grpc::InsecureServerCredentials();
}

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(
    const std::string& listener, CallTransport transport, const ServerSecurity& security) {
    const KeyPair* own = security.tls ? &*security.tls : nullptr;
    if (security.gatekeeper == nullptr) return unguarded(transport, own);
    std::shared_ptr<grpc::ServerCredentials> credentials;
    switch (transport) {
        case CallTransport::unix_socket:
            credentials = grpc::experimental::LocalServerCredentials(UDS);
            break;
        case CallTransport::loopback:
            RM_RETURN_IF_ERROR(check_local(listener));
            credentials = grpc::experimental::LocalServerCredentials(LOCAL_TCP);
            break;
        case CallTransport::tls:
            credentials = tls_credentials(*own);
            break;
    }
    credentials->SetAuthMetadataProcessor(
        make_auth_processor(*security.gatekeeper, transport, "at " + listener));
    return credentials;
}

}  // namespace rm
