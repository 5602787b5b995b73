#include "service/security/credentials.h"

#include "service/security/grpc_auth.h"
#include "service/security/pki.h"
#include "service/security/reloaded_file.h"
#include "service/security/tokens.h"

namespace rm {
namespace {

using Credentials = std::shared_ptr<grpc::ChannelCredentials>;

// Reads the present token, so that a new one is used without a restart.
class TokenPlugin final : public grpc::MetadataCredentialsPlugin {
public:
    explicit TokenPlugin(const std::string& path) : file_(path, parse_token) {}

    bool IsBlocking() const override { return false; }
    grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                             std::multimap<std::string, std::string>* metadata) override {
        const auto token = file_.get();
        if (!token) return {grpc::StatusCode::UNAUTHENTICATED, token.error().message};
        metadata->emplace("authorization", "Bearer " + **token);
        return grpc::Status::OK;
    }

private:
    const ReloadedFile<std::string> file_;
};

Result<Credentials> tls_credentials(const ClientSecurity& security) {
    grpc::SslCredentialsOptions options;
    RM_TRY(options.pem_root_certs, within("--ca", read_small_file(security.ca)));
    if (!security.certificate.empty()) {
        RM_TRY(KeyPair own, read_key_pair(security.certificate, security.key));
        options.pem_cert_chain = std::move(own.certificate);
        options.pem_private_key = std::move(own.key);
    }
    return grpc::SslCredentials(options);
}

Status check_files(const ClientSecurity& security) {
    if (security.certificate.empty() != security.key.empty()) {
        return invalid_argument("a client certificate needs both files, --cert and --key");
    }
    if (security.ca.empty() && !security.certificate.empty()) {
        return invalid_argument("a client certificate needs TLS: give --ca too");
    }
    return {};
}

// gRPC sends call credentials only over channels that it calls secure. Loopback and Unix sockets
// are, by its local credentials, which check that the peer is local and send nothing of their own.
Credentials local_credentials(std::string_view address) {
    return grpc::experimental::LocalCredentials(address.starts_with("unix:") ? UDS : LOCAL_TCP);
}

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

Result<Credentials> channel_credentials(std::string_view address, const ClientSecurity& security) {
    RM_RETURN_IF_ERROR(check_files(security));
    RM_RETURN_IF_ERROR(check_address(address, security.wire()));
    const bool tls = security.wire() == Wire::tls;
    Credentials channel = tls ? nullptr : grpc::InsecureChannelCredentials();
    if (tls) {
        RM_TRY(channel, tls_credentials(security));
    }
    if (security.token_file.empty()) return channel;
    RM_TRY(const std::string token, read_token_file(security.token_file));  // now, not at a call
    if (!tls) channel = local_credentials(address);
    return grpc::CompositeChannelCredentials(
        channel, grpc::experimental::MetadataCredentialsFromPlugin(
                     std::make_unique<TokenPlugin>(security.token_file), GRPC_SECURITY_NONE));
}

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
