#include "service/security/pki.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "service/security/openssl.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr long kClockSlack = 300;     // seconds
constexpr long kDay = 86400;          // seconds
constexpr std::size_t kMaxName = 64;  // of a CN: RFC 5280, ub-common-name
constexpr int kSerialBits = 127;      // positive and unguessable, 16 bytes at most
constexpr std::size_t kMaxRequest = 8192;
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
    if (!key) return last_error("the key cannot be read");
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

// A certificate in the making, unsigned.
struct Draft {
    std::string name;
    std::string unit;
    WallTime now;
    Seconds lifetime;
};

Result<openssl::Certificate> begin(const Draft& draft, EVP_PKEY* key) {
    const std::string& name = draft.name;
    if (name.empty() || name.size() > kMaxName) {
        return invalid_argument("name '{}' has {} bytes; 1 to {} are allowed", name, name.size(),
                                kMaxName);
    }
    if (draft.lifetime.value < 1) {
        return invalid_argument("a certificate cannot be valid for {}", draft.lifetime);
    }
    openssl::Certificate certificate(X509_new());
    const long now = static_cast<long>(draft.now.micros / 1'000'000);
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    const bool done =
        X509_set_version(certificate.get(), X509_VERSION_3) == 1 && set_serial(certificate.get()) &&
        ASN1_TIME_set(X509_getm_notBefore(certificate.get()), now - kClockSlack) != nullptr &&
        ASN1_TIME_set(X509_getm_notAfter(certificate.get()),
                      now + static_cast<long>(draft.lifetime.value)) != nullptr &&
        add_name(subject, "O", kOrganization) && add_name(subject, "OU", draft.unit) &&
        add_name(subject, "CN", name) && X509_set_pubkey(certificate.get(), key) == 1;
    if (!done) return last_error("cannot make a certificate");
    return certificate;
}

Seconds in_days(int days) {
    return {static_cast<double>(days) * kDay};
}

Status add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const openssl::Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    if (extension && X509_add_ext(certificate, extension.get(), -1) == 1) return {};
    return last_error(format("cannot add '{}' to a certificate", value));
}

Result<std::string> sign(X509* certificate, X509* issuer, EVP_PKEY* issuer_key) {
    if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
        X509_sign(certificate, issuer_key, EVP_sha256()) == 0) {
        return last_error("cannot sign a certificate");
    }
    return certificate_text(certificate);
}

// An authority's certificate and key, ready to sign.
struct Issuer {
    openssl::Certificate certificate;
    openssl::Key key;
};

Result<Issuer> parse_issuer(const KeyPair& pair) {
    Issuer issuer;
    RM_TRY(issuer.certificate, parse_certificate(pair.certificate));
    RM_TRY(issuer.key, parse_key(pair.key));
    return issuer;
}

Status add_all(X509* certificate, X509* issuer,
               std::initializer_list<std::pair<int, std::string>> extensions) {
    for (const auto& [nid, value] : extensions)
        RM_RETURN_IF_ERROR(add_extension(certificate, issuer, nid, value));
    return {};
}

bool is_address(const std::string& name) {
    unsigned char bytes[sizeof(in6_addr)];
    return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
           inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

std::string address_text(const ASN1_OCTET_STRING& bytes) {
    char text[INET6_ADDRSTRLEN] = "";
    const int family = ASN1_STRING_length(&bytes) == 4 ? AF_INET : AF_INET6;
    inet_ntop(family, ASN1_STRING_get0_data(&bytes), text, sizeof text);
    return text;
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

Status add_leaf_extensions(X509* certificate, X509* issuer, const std::string& use) {
    return add_all(certificate, issuer,
                   {{NID_basic_constraints, "critical,CA:FALSE"},
                    {NID_key_usage, "critical,digitalSignature"},
                    {NID_ext_key_usage, use},
                    {NID_authority_key_identifier, "keyid"}});
}

// The key of a request that proves to have it.
Result<openssl::Key> proven_key(std::string_view request) {
    if (request.size() > kMaxRequest) {
        return invalid_argument("the signing request has {} bytes; at most {}", request.size(),
                                kMaxRequest);
    }
    const openssl::Request parsed(
        PEM_read_bio_X509_REQ(openssl::read_bio(request).get(), nullptr, nullptr, nullptr));
    openssl::Key key(parsed ? X509_REQ_get_pubkey(parsed.get()) : nullptr);
    const bool proven = key && X509_REQ_verify(parsed.get(), key.get()) == 1;
    ERR_clear_error();
    if (!key) return invalid_argument("the signing request is not one in PEM");
    if (!proven) return invalid_argument("the signing request is not signed by its own key");
    char group[32] = "";
    EVP_PKEY_get_group_name(key.get(), group, sizeof group, nullptr);
    ERR_clear_error();
    const std::string_view curve(group);
    if (curve == "prime256v1" || curve == "secp384r1" || curve == "secp521r1") return key;
    return invalid_argument(
        "the signing request has a key of another kind; P-256, P-384 or P-521 is needed");
}

std::optional<WallTime> to_wall(const ASN1_TIME* time) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
    return WallTime{std::int64_t{timegm(&parts)} * 1'000'000};
}

}  // namespace

Result<KeyPair> make_authority(const std::string& name, WallTime now, int days) {
    RM_TRY(const openssl::Key key, make_key());
    RM_TRY(const openssl::Certificate made,
           begin({name, "authority", now, in_days(days)}, key.get()));
    X509* self = made.get();
    // Below it: the authority for nodes.
    RM_RETURN_IF_ERROR(add_all(self, self,
                               {{NID_basic_constraints, "critical,CA:TRUE,pathlen:1"},
                                {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                {NID_subject_key_identifier, "hash"}}));
    KeyPair pair;
    RM_TRY(pair.certificate, sign(self, self, key.get()));
    RM_TRY(pair.key, key_text(key.get()));
    return pair;
}

Result<KeyPair> make_node_authority(const KeyPair& authority, const std::string& name, WallTime now,
                                    int days) {
    RM_TRY(const Issuer issuer, parse_issuer(authority));
    RM_TRY(const openssl::Key key, make_key());
    RM_TRY(const openssl::Certificate made,
           begin({name, "authority for nodes", now, in_days(days)}, key.get()));
    // The extended use binds what it signs: no server that it names is believed.
    RM_RETURN_IF_ERROR(add_all(made.get(), issuer.certificate.get(),
                               {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                {NID_key_usage, "critical,keyCertSign"},
                                {NID_ext_key_usage, "clientAuth"},
                                {NID_subject_key_identifier, "hash"},
                                {NID_authority_key_identifier, "keyid"}}));
    KeyPair pair;
    RM_TRY(pair.certificate, sign(made.get(), issuer.certificate.get(), issuer.key.get()));
    RM_TRY(pair.key, key_text(key.get()));
    return pair;
}

Result<KeyPair> issue(const KeyPair& authority, const CertificateOrder& order, WallTime now) {
    if (!order.role && order.subject_names.empty()) {
        return invalid_argument(
            "server '{}' needs the names and addresses it answers to: give --san once or more",
            order.name);
    }
    RM_TRY(const Issuer issuer, parse_issuer(authority));
    RM_TRY(const openssl::Key key, make_key());
    const std::string unit(order.role ? to_string(*order.role) : "server");
    RM_TRY(const openssl::Certificate made,
           begin({order.name, unit, now, in_days(order.days)}, key.get()));
    X509* of = issuer.certificate.get();
    RM_RETURN_IF_ERROR(
        add_leaf_extensions(made.get(), of, order.role ? "clientAuth" : "serverAuth"));
    RM_TRY(const std::string names, subject_name_list(order.subject_names));
    if (!names.empty())
        RM_RETURN_IF_ERROR(add_extension(made.get(), of, NID_subject_alt_name, names));
    KeyPair pair;
    RM_TRY(pair.certificate, sign(made.get(), of, issuer.key.get()));
    RM_TRY(pair.key, key_text(key.get()));
    return pair;
}

Result<std::string> make_private_key() {
    RM_TRY(const openssl::Key key, make_key());
    return key_text(key.get());
}

Result<std::string> make_signing_request(std::string_view key_pem) {
    RM_TRY(const openssl::Key key, parse_key(key_pem));
    const openssl::Request request(X509_REQ_new());
    const bool done = X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1 &&
                      X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) != 0;
    const openssl::Bio out(BIO_new(BIO_s_mem()));
    if (done && PEM_write_bio_X509_REQ(out.get(), request.get()) == 1)
        return openssl::contents(out.get());
    return last_error("cannot make a signing request");
}

Result<std::string> requested_key(std::string_view request) {
    RM_TRY(const openssl::Key key, proven_key(request));
    unsigned char* der = nullptr;
    const int size = i2d_PUBKEY(key.get(), &der);
    const std::string bytes(reinterpret_cast<char*>(der), size < 0 ? 0 : usize(size));
    OPENSSL_free(der);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr);
    return openssl::hex({digest, length});
}

Result<std::string> issue_for_node(const KeyPair& authority, std::string_view request,
                                   const NodeOrder& order) {
    RM_TRY(const openssl::Key key, proven_key(request));
    RM_TRY(const Issuer issuer, parse_issuer(authority));
    RM_TRY(const openssl::Certificate made,
           begin({order.name, std::string(to_string(Role::worker)), order.now, order.lifetime},
                 key.get()));
    RM_RETURN_IF_ERROR(add_leaf_extensions(made.get(), issuer.certificate.get(), "clientAuth"));
    return sign(made.get(), issuer.certificate.get(), issuer.key.get());
}

Result<std::string> fingerprint_of(std::string_view pem) {
    RM_TRY(const openssl::Certificate certificate, parse_certificate(pem));
    return openssl::fingerprint(certificate.get());
}

Result<std::string> authority_in(std::string_view chain) {
    const openssl::Bio in = openssl::read_bio(chain);
    openssl::Certificate last;
    while (openssl::Certificate next{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)})
        last = std::move(next);
    ERR_clear_error();  // the end of the text
    if (last && X509_check_ca(last.get()) == 1 &&
        X509_check_issued(last.get(), last.get()) == X509_V_OK) {
        return certificate_text(last.get());
    }
    return make_error(ErrorCode::failed_precondition,
                      "the file of --tls-cert does not end with the certificate of its authority, "
                      "which a worker that joins must see: append ca.crt to it");
}

Result<std::string> first_host_of(std::string_view pem) {
    RM_TRY(const openssl::Certificate certificate, parse_certificate(pem));
    const std::unique_ptr<GENERAL_NAMES, openssl::Free<GENERAL_NAMES_free>> names(
        static_cast<GENERAL_NAMES*>(
            X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_DNS) {
            return std::string(
                reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                usize(ASN1_STRING_length(name->d.dNSName)));
        }
        if (name->type == GEN_IPADD) return address_text(*name->d.iPAddress);
    }
    return std::string();
}

Result<Lifetime> lifetime_of(std::string_view pem) {
    RM_TRY(const openssl::Certificate certificate, parse_certificate(pem));
    const auto from = to_wall(X509_get0_notBefore(certificate.get()));
    const auto until = to_wall(X509_get0_notAfter(certificate.get()));
    if (!from || !until) return invalid_argument("the times of a certificate cannot be read");
    return Lifetime{*from + Seconds{static_cast<double>(kClockSlack)}, *until};
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
