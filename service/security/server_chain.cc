#include "service/security/server_chain.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "service/security/client_security.h"
#include "service/security/openssl.h"

namespace rm {
namespace {

constexpr std::string_view kSha256 = "sha256:";
constexpr std::size_t kDigits = 64;
constexpr unsigned char kHttp2[] = {2, 'h', '2'};  // ALPN

template <typename... Args>
Error refused(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::failed_precondition, pattern, args...);
}

X509* with_fingerprint(STACK_OF(X509) * chain, const std::string& fingerprint) {
    for (int i = 0; i < sk_X509_num(chain); ++i) {
        X509* certificate = sk_X509_value(chain, i);
        if (openssl::fingerprint(certificate) == fingerprint) return certificate;
    }
    return nullptr;
}

// Checks the first certificate of the chain as that of a server, with `authority` alone trusted.
Status check_server(STACK_OF(X509) * chain, X509* authority, const ChainWanted& wanted) {
    const openssl::Store store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), authority);
    const openssl::StoreContext context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), store.get(), sk_X509_value(chain, 0), chain);
    X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER);
    X509_STORE_CTX_set_time(context.get(), 0,
                            static_cast<std::time_t>(wanted.now.micros / 1'000'000));
    X509_VERIFY_PARAM* names = X509_STORE_CTX_get0_param(context.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(names, wanted.name.c_str()) != 1)
        X509_VERIFY_PARAM_set1_host(names, wanted.name.c_str(), wanted.name.size());
    const bool good = X509_verify_cert(context.get()) == 1;
    ERR_clear_error();
    if (good) return {};
    const int why = X509_STORE_CTX_get_error(context.get());
    if (why == X509_V_ERR_HOSTNAME_MISMATCH || why == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        return refused(
            "its certificate is not for '{}'; give the name it has with --server-name, or make one "
            "with --san {}",
            wanted.name, wanted.name);
    }
    return refused("the authority with that fingerprint has not signed its certificate: {}",
                   X509_verify_cert_error_string(why));
}

Result<std::string> authority_of(STACK_OF(X509) * chain, const ChainWanted& wanted) {
    if (chain == nullptr || sk_X509_num(chain) == 0) return refused("it shows no certificate");
    X509* authority = with_fingerprint(chain, wanted.fingerprint);
    if (authority == nullptr) {
        X509* last = sk_X509_value(chain, sk_X509_num(chain) - 1);
        return refused(
            "none of the {} certificates it shows has the fingerprint {}; the last one has {}. It "
            "is another controller, or the file of its --tls-cert does not end with ca.crt",
            sk_X509_num(chain), wanted.fingerprint, openssl::fingerprint(last));
    }
    RM_RETURN_IF_ERROR(check_server(chain, authority, wanted));
    const openssl::Bio out(BIO_new(BIO_s_mem()));
    if (PEM_write_bio_X509(out.get(), authority) == 1) return openssl::contents(out.get());
    return openssl::last_error("cannot write a certificate");
}

}  // namespace

Result<std::string> parse_fingerprint(const std::string& text) {
    std::string plain = text;
    std::transform(plain.begin(), plain.end(), plain.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool good = plain.starts_with(kSha256) && plain.size() == kSha256.size() + kDigits &&
                      plain.find_first_not_of("0123456789abcdef", kSha256.size()) == plain.npos;
    if (good) return plain;
    return invalid_argument("'{}' is not sha256: and 64 hexadecimal digits", text);
}

Result<std::string> find_authority(const HostPort& server, const ChainWanted& wanted) {
    const UniqueFd socket = connect_briefly(server);
    if (!socket) {
        return make_error(ErrorCode::unavailable, "nothing answers at {}", to_string(server));
    }
    const openssl::Context context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2);
    const openssl::Connection tls(SSL_new(context.get()));
    openssl::expect_name(tls.get(), wanted.name);
    SSL_set_fd(tls.get(), socket.get());
    const int result = SSL_connect(tls.get());
    const bool is_plain = result != 1 && SSL_get_error(tls.get(), result) == SSL_ERROR_SSL;
    ERR_clear_error();
    const std::string at = format("the controller at {}", to_string(server));
    if (is_plain) return refused("{} does not speak TLS; joining needs it (--tls-cert)", at);
    if (result != 1) {
        return make_error(ErrorCode::unavailable, "{} ends the handshake", at);
    }
    return within(at, authority_of(SSL_get_peer_cert_chain(tls.get()), wanted));
}

}  // namespace rm
