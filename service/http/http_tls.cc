#include "service/http/http_tls.h"

#include <openssl/pem.h>

#include "service/security/openssl.h"

namespace rm {
namespace {

namespace ssl = boost::asio::ssl;

constexpr unsigned char kSessionContext[] = "ringmaster";

}  // namespace

Result<ssl::context> http_tls(const KeyPair& own) {
    ssl::context context(ssl::context::tls_server);
    boost::system::error_code failure;
    context.use_certificate_chain(boost::asio::buffer(own.certificate), failure);
    if (!failure) context.use_private_key(boost::asio::buffer(own.key), ssl::context::pem, failure);
    if (failure) {
        return invalid_argument("the certificate and key of the HTTP server cannot be used: {}",
                                failure.message());
    }
    SSL_CTX* native = context.native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);
    // Allows no resumption: a resumed session would present a certificate that this handshake has
    // not verified.
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(native, 0);
    SSL_CTX_set_session_id_context(native, kSessionContext, sizeof kSessionContext - 1);
    context.set_verify_mode(ssl::verify_peer);
    context.set_verify_callback([](bool, ssl::verify_context&) { return true; });
    return context;
}

bool names(ssl::context& context, std::string_view host) {
    X509* own = SSL_CTX_get0_certificate(context.native_handle());
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    const std::string plain(bracketed ? host.substr(1, host.size() - 2) : host);
    return X509_check_host(own, plain.data(), plain.size(), 0, nullptr) == 1 ||
           X509_check_ip_asc(own, plain.c_str(), 0) == 1;
}

std::string peer_certificate(SSL* connection) {
    const openssl::Certificate certificate(SSL_get1_peer_certificate(connection));
    if (!certificate) return "";
    const openssl::Bio out(BIO_new(BIO_s_mem()));
    return PEM_write_bio_X509(out.get(), certificate.get()) == 1 ? openssl::contents(out.get())
                                                                 : "";
}

}  // namespace rm
