#include "service/security/client_authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "service/security/openssl.h"

namespace rm {
namespace {

Error refused(std::string_view reason) {
    return make_error(ErrorCode::unauthenticated, "{}", reason);
}

std::optional<WallTime> to_wall(const ASN1_TIME* time) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
    return WallTime{std::int64_t{timegm(&parts)} * 1'000'000};
}

std::string time_text(const ASN1_TIME* time) {
    const auto wall = to_wall(time);
    return wall ? to_iso8601(*wall) : "an unknown time";
}

// Describes a `code` of X509_verify_cert. OpenSSL checks times after the signature.
Error why(int code, X509* certificate) {
    const std::string name = openssl::subject_entry(certificate, NID_commonName);
    switch (code) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return refused(format("the certificate of '{}' expired at {}", name,
                                  time_text(X509_get0_notAfter(certificate))));
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return refused(format("the certificate of '{}' is valid from {} on", name,
                                  time_text(X509_get0_notBefore(certificate))));
        case X509_V_ERR_INVALID_PURPOSE:
            return refused("the certificate is not a client's (clientAuth)");
        default:
            return refused(
                format("the client certificate is not one of this controller's authority: {}",
                       X509_verify_cert_error_string(code)));
    }
}

// The time in which every certificate of a chain is valid; empty if a time is unreadable.
struct Validity {
    WallTime from{std::numeric_limits<std::int64_t>::min()};
    WallTime until{std::numeric_limits<std::int64_t>::max()};
    bool contains(WallTime now) const { return from <= now && now < until; }
};

Validity validity_of(const STACK_OF(X509) * chain) {
    Validity all;
    for (int i = 0; i < sk_X509_num(chain); ++i) {
        const auto from = to_wall(X509_get0_notBefore(sk_X509_value(chain, i)));
        const auto until = to_wall(X509_get0_notAfter(sk_X509_value(chain, i)));
        if (!from || !until) return {WallTime{}, WallTime{}};
        all = {std::max(all.from, *from), std::min(all.until, *until)};
    }
    return all;
}

// Verified certificates, by their text.
class Known {
public:
    std::optional<CertificateFacts> recall(std::string_view pem, WallTime now) const {
        const std::lock_guard lock(mutex_);
        const auto found = good_.find(pem);
        if (found == good_.end() || !found->second.validity.contains(now)) return std::nullopt;
        return found->second.facts;
    }
    void remember(std::string_view pem, const CertificateFacts& facts, Validity validity) {
        const std::lock_guard lock(mutex_);
        if (good_.size() == kMost) good_.clear();
        good_.insert_or_assign(std::string(pem), Good{facts, validity});
    }

private:
    static constexpr std::size_t kMost = 20'000;  // of a kilobyte or two each
    struct Good {
        CertificateFacts facts;
        Validity validity;
    };
    mutable std::mutex mutex_;
    std::map<std::string, Good, std::less<>> good_;
};

}  // namespace

struct ClientAuthority::Impl {
    openssl::Store store;
    openssl::Certificate of_nodes;  // null: none
    Known known;

    bool ends_in_nodes(const STACK_OF(X509) * chain) const {
        for (int i = 1; of_nodes && i < sk_X509_num(chain); ++i) {
            if (X509_cmp(sk_X509_value(chain, i), of_nodes.get()) == 0) return true;
        }
        return false;
    }
    // Trusts it as it is, without its own signer: it vouches for workers alone, and the controller
    // has its key.
    bool add_authority_for_nodes(std::string_view pem) {
        of_nodes.reset(PEM_read_bio_X509(openssl::read_bio(pem).get(), nullptr, nullptr, nullptr));
        ERR_clear_error();
        if (!of_nodes) return false;
        X509_STORE_add_cert(store.get(), of_nodes.get());
        X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
        return true;
    }
};

ClientAuthority::ClientAuthority(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientAuthority::~ClientAuthority() = default;
ClientAuthority::ClientAuthority(ClientAuthority&&) noexcept = default;
ClientAuthority& ClientAuthority::operator=(ClientAuthority&&) noexcept = default;

Result<ClientAuthority> ClientAuthority::parse(std::string_view pem, std::string_view of_nodes) {
    auto impl = std::make_unique<Impl>();
    impl->store.reset(X509_STORE_new());
    const openssl::Bio in = openssl::read_bio(pem);
    int count = 0;
    while (const openssl::Certificate certificate{
        PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
        X509_STORE_add_cert(impl->store.get(), certificate.get());
        ++count;
    }
    ERR_clear_error();  // the end of the text
    if (!of_nodes.empty() && !impl->add_authority_for_nodes(of_nodes)) {
        return invalid_argument("the authority for nodes is not a certificate in PEM");
    }
    if (count == 0 && of_nodes.empty()) return invalid_argument("no certificate in PEM is in it");
    return ClientAuthority(std::move(impl));
}

Result<CertificateFacts> ClientAuthority::verify(std::string_view pem, WallTime now) const {
    if (auto known = impl_->known.recall(pem, now)) return *std::move(known);
    return examine(pem, now);
}

Result<CertificateFacts> ClientAuthority::examine(std::string_view pem, WallTime now) const {
    const openssl::Certificate certificate(
        PEM_read_bio_X509(openssl::read_bio(pem).get(), nullptr, nullptr, nullptr));
    const openssl::StoreContext context(X509_STORE_CTX_new());
    if (!certificate ||
        X509_STORE_CTX_init(context.get(), impl_->store.get(), certificate.get(), nullptr) != 1) {
        ERR_clear_error();
        return refused("the client certificate cannot be read");
    }
    X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
    X509_STORE_CTX_set_time(context.get(), 0, static_cast<std::time_t>(now.micros / 1'000'000));
    const bool good = X509_verify_cert(context.get()) == 1;
    ERR_clear_error();
    if (!good) {
        X509* at = X509_STORE_CTX_get_current_cert(context.get());
        return why(X509_STORE_CTX_get_error(context.get()), at ? at : certificate.get());
    }
    const auto* chain = X509_STORE_CTX_get0_chain(context.get());
    const CertificateFacts facts{
        openssl::subject_entry(certificate.get(), NID_commonName),
        openssl::subject_entry(certificate.get(), NID_organizationalUnitName),
        openssl::serial_text(certificate.get()), impl_->ends_in_nodes(chain)};
    impl_->known.remember(pem, facts, validity_of(chain));
    return facts;
}

}  // namespace rm
