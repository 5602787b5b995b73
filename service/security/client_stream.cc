#include "service/security/client_stream.h"

#include <sys/socket.h>

#include "service/security/openssl.h"

namespace rm {
namespace {

class BioStream final : public ClientStream {
public:
    BioStream(openssl::Context context, openssl::Bio bio)
        : context_(std::move(context)),
          bio_(std::move(bio)),
          fd_(BIO_get_fd(bio_.get(), nullptr)) {}

    bool write(std::string_view bytes) override {
        while (!bytes.empty()) {
            const int sent = BIO_write(bio_.get(), bytes.data(), static_cast<int>(bytes.size()));
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    std::size_t read(std::span<char> into) override {
        const int got = BIO_read(bio_.get(), into.data(), static_cast<int>(into.size()));
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    void shut_down() override { ::shutdown(fd_, SHUT_RDWR); }

private:
    const openssl::Context context_;  // null: plain
    const openssl::Bio bio_;
    const int fd_;
};

Result<openssl::Context> context_of(const ClientSecurity& security) {
    openssl::Context context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (SSL_CTX_load_verify_locations(context.get(), security.ca.c_str(), nullptr) != 1)
        return openssl::last_error(format("reading the CA {}", security.ca));
    if (security.certificate.empty()) return context;
    const bool usable =
        SSL_CTX_use_certificate_chain_file(context.get(), security.certificate.c_str()) == 1 &&
        SSL_CTX_use_PrivateKey_file(context.get(), security.key.c_str(), SSL_FILETYPE_PEM) == 1;
    if (usable) return context;
    return openssl::last_error(format("reading {} and its key", security.certificate));
}

Result<openssl::Bio> tls_bio(SSL_CTX* context, const std::string& expected) {
    openssl::Bio bio(BIO_new_ssl_connect(context));
    SSL* tls = nullptr;
    BIO_get_ssl(bio.get(), &tls);
    openssl::expect_name(tls, expected);
    return bio;
}

}  // namespace

Result<std::unique_ptr<ClientStream>> ClientStream::open(const HostPort& address,
                                                         const ClientSecurity& security) {
    openssl::Context context;
    openssl::Bio bio(BIO_new(BIO_s_connect()));
    if (security.wire() == Wire::tls) {
        const std::string& name = security.server_name;
        RM_TRY(context, context_of(security));
        RM_TRY(bio, tls_bio(context.get(), name.empty() ? address.host : name));
    }
    BIO_set_conn_hostname(bio.get(), to_string(address).c_str());
    if (BIO_do_connect(bio.get()) == 1)
        return std::unique_ptr<ClientStream>(new BioStream(std::move(context), std::move(bio)));
    const Error why = openssl::last_error(format("connecting to {}", to_string(address)));
    return make_error(ErrorCode::unavailable, "{}", why.message);
}

}  // namespace rm
