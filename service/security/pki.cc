#include "service/security/pki.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "service/security/openssl.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr long kClockSlack = 300;     // seconds
constexpr long kDay = 86400;          // seconds
constexpr std::size_t kMaxName = 64;  // of a CN: RFC 5280, ub-common-name
constexpr int kSerialBits = 127;      // positive and unguessable, 16 bytes at most
constexpr const char* kOrganization = "ringmaster";

using openssl::last_error;

Result<openssl::Key> make_key() {
    openssl::Key key(EVP_EC_gen("P-256"));
    if (!key) return last_error("cannot make a P-256 key");
    return key;
}

Result<std::string> key_text(EVP_PKEY* key) {
    const openssl::Bio out(BIO_new(BIO_s_mem()));
    if (PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return last_error("cannot write a key");
    }
    return openssl::contents(out.get());
}

Result<std::string> certificate_text(X509* certificate) {
    const openssl::Bio out(BIO_new(BIO_s_mem()));
    if (PEM_write_bio_X509(out.get(), certificate) != 1) {
        return last_error("cannot write a certificate");
    }
    return openssl::contents(out.get());
}

Result<openssl::Key> parse_key(std::string_view pem) {
    openssl::Key key(
        PEM_read_bio_PrivateKey(openssl::read_bio(pem).get(), nullptr, nullptr, nullptr));
    if (!key) return last_error("the authority's key cannot be read");
    return key;
}

Result<openssl::Certificate> parse_certificate(std::string_view pem) {
    openssl::Certificate certificate(
        PEM_read_bio_X509(openssl::read_bio(pem).get(), nullptr, nullptr, nullptr));
    if (!certificate) return last_error("not a certificate in PEM");
    return certificate;
}

bool set_serial(X509* certificate) {
    const openssl::Number number(BN_new());
    return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_name(X509_NAME* name, const char* field, const std::string& text) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1;
}

// A certificate in the making: unsigned, with a new key.
struct Draft {
    openssl::Key key;
    openssl::Certificate certificate;
};

Result<Draft> begin(const std::string& name, const std::string& unit, WallTime now, int days) {
    if (name.empty() || name.size() > kMaxName) {
        return invalid_argument("name '{}' has {} bytes; 1 to {} are allowed", name, name.size(),
                                kMaxName);
    }
    if (days < 1) return invalid_argument("a certificate cannot be valid for {} days", days);
    RM_TRY(openssl::Key key, make_key());
    openssl::Certificate certificate(X509_new());
    const long begin = static_cast<long>(now.micros / 1'000'000) - kClockSlack;
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    const bool done =
        X509_set_version(certificate.get(), X509_VERSION_3) == 1 && set_serial(certificate.get()) &&
        ASN1_TIME_set(X509_getm_notBefore(certificate.get()), begin) != nullptr &&
        ASN1_TIME_set(X509_getm_notAfter(certificate.get()), begin + kClockSlack + days * kDay) !=
            nullptr &&
        add_name(subject, "O", kOrganization) && add_name(subject, "OU", unit) &&
        add_name(subject, "CN", name) && X509_set_pubkey(certificate.get(), key.get()) == 1;
    if (!done) return last_error("cannot make a certificate");
    return Draft{std::move(key), std::move(certificate)};
}

Status add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const openssl::Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    if (extension && X509_add_ext(certificate, extension.get(), -1) == 1) return {};
    return last_error(format("cannot add '{}' to a certificate", value));
}

Result<KeyPair> sign(Draft draft, X509* issuer, EVP_PKEY* issuer_key) {
    if (X509_set_issuer_name(draft.certificate.get(), X509_get_subject_name(issuer)) != 1 ||
        X509_sign(draft.certificate.get(), issuer_key, EVP_sha256()) == 0) {
        return last_error("cannot sign a certificate");
    }
    KeyPair pair;
    RM_TRY(pair.certificate, certificate_text(draft.certificate.get()));
    RM_TRY(pair.key, key_text(draft.key.get()));
    return pair;
}

bool is_address(const std::string& name) {
    unsigned char bytes[sizeof(in6_addr)];
    return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
           inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

// The letters of host names and addresses, and '*': no separator of the extension's list.
Status check_subject_name(const std::string& name) {
    const bool plain = !name.empty() && name.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyz"
                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789.:-_*") == name.npos;
    if (plain) return {};
    return invalid_argument("'{}' is neither a host name nor an IP address", name);
}

Result<std::string> subject_name_list(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        RM_RETURN_IF_ERROR(check_subject_name(name));
        list += format("{}{}:{}", list.empty() ? "" : ",", is_address(name) ? "IP" : "DNS", name);
    }
    return list;
}

Status add_leaf_extensions(X509* certificate, X509* issuer, const CertificateOrder& order) {
    const auto add = [&](int nid, const std::string& value) {
        return add_extension(certificate, issuer, nid, value);
    };
    RM_RETURN_IF_ERROR(add(NID_basic_constraints, "critical,CA:FALSE"));
    RM_RETURN_IF_ERROR(add(NID_key_usage, "critical,digitalSignature"));
    RM_RETURN_IF_ERROR(add(NID_ext_key_usage, order.role ? "clientAuth" : "serverAuth"));
    RM_RETURN_IF_ERROR(add(NID_authority_key_identifier, "keyid"));
    RM_TRY(const std::string names, subject_name_list(order.subject_names));
    return names.empty() ? Status() : add(NID_subject_alt_name, names);
}

}  // namespace

Result<KeyPair> make_authority(const std::string& name, WallTime now, int days) {
    RM_TRY(Draft draft, begin(name, "authority", now, days));
    X509* self = draft.certificate.get();
    RM_RETURN_IF_ERROR(
        add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
    RM_RETURN_IF_ERROR(add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign"));
    RM_RETURN_IF_ERROR(add_extension(self, self, NID_subject_key_identifier, "hash"));
    EVP_PKEY* key = draft.key.get();
    return sign(std::move(draft), self, key);
}

Result<KeyPair> issue(const KeyPair& authority, const CertificateOrder& order, WallTime now) {
    if (!order.role && order.subject_names.empty()) {
        return invalid_argument(
            "server '{}' needs the names and addresses it answers to: give --san once or more",
            order.name);
    }
    RM_TRY(const openssl::Certificate issuer, parse_certificate(authority.certificate));
    RM_TRY(const openssl::Key issuer_key, parse_key(authority.key));
    const std::string unit(order.role ? to_string(*order.role) : "server");
    RM_TRY(Draft draft, begin(order.name, unit, now, order.days));
    RM_RETURN_IF_ERROR(add_leaf_extensions(draft.certificate.get(), issuer.get(), order));
    return sign(std::move(draft), issuer.get(), issuer_key.get());
}

Result<std::string> serial_of(std::string_view pem) {
    RM_TRY(const openssl::Certificate certificate, parse_certificate(pem));
    return openssl::serial_text(certificate.get());
}

Result<std::string> name_of(std::string_view pem) {
    RM_TRY(const openssl::Certificate certificate, parse_certificate(pem));
    return openssl::subject_entry(certificate.get(), NID_commonName);
}

Result<KeyPair> read_key_pair(const std::string& certificate_path, const std::string& key_path) {
    KeyPair pair;
    RM_TRY(pair.certificate, read_small_file(certificate_path));
    RM_TRY(pair.key, read_small_file(key_path));
    const openssl::Certificate certificate(
        PEM_read_bio_X509(openssl::read_bio(pair.certificate).get(), nullptr, nullptr, nullptr));
    const openssl::Key key(
        PEM_read_bio_PrivateKey(openssl::read_bio(pair.key).get(), nullptr, nullptr, nullptr));
    const bool match =
        certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
    ERR_clear_error();
    if (!certificate) return invalid_argument("{} has no certificate in PEM", certificate_path);
    if (!key) return invalid_argument("{} has no private key in PEM", key_path);
    if (match) return pair;
    return invalid_argument("the key in {} is not that of the certificate in {}", key_path,
                            certificate_path);
}

Result<std::string> normal_serial(std::string_view text) {
    std::string serial(text);
    const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
    if (serial.empty() || !std::all_of(serial.begin(), serial.end(), is_hex)) {
        return invalid_argument("'{}' is not a serial number in hexadecimal", text);
    }
    for (char& c : serial)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    // OpenSSL prints whole bytes, perhaps with a leading zero.
    serial.erase(0, std::min(serial.find_first_not_of('0'), serial.size() - 1));
    return serial;
}

Result<DenyList> parse_deny_list(std::string_view text, std::string_view file_name) {
    DenyList list;
    for (int line = 1; !text.empty(); ++line) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view whole = text.substr(0, end);
        const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (content.empty()) continue;
        RM_TRY(std::string serial,
               within(format("{}:{}", file_name, line), normal_serial(content)));
        list.insert(std::move(serial));
    }
    return list;
}

}  // namespace rm
