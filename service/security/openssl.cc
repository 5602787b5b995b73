#include "service/security/openssl.h"

#include <openssl/err.h>

namespace rm::openssl {

Error last_error(std::string_view doing) {
    char text[256] = "no reason given";
    if (const unsigned long code = ERR_get_error(); code != 0) {
        ERR_error_string_n(code, text, sizeof text);
    }
    ERR_clear_error();
    return make_error(ErrorCode::internal, "{}: {}", doing, text);
}

Bio read_bio(std::string_view text) {
    return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string contents(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, usize(size)};
}

std::string hex(std::span<const unsigned char> bytes) {
    std::string text;
    for (const unsigned char byte : bytes)
        text += format("{:02x}", static_cast<unsigned>(byte));
    return text;
}

std::string serial_text(X509* certificate) {
    const Number number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
    char* text = number ? BN_bn2hex(number.get()) : nullptr;
    const std::string serial = text == nullptr ? "" : text;
    OPENSSL_free(text);
    return serial;
}

std::string fingerprint(X509* certificate) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return "";
    return "sha256:" + hex({digest, size});
}

void expect_name(SSL* tls, const std::string& name) {
    X509_VERIFY_PARAM* wanted = SSL_get0_param(tls);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1) return;
    X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size());
    SSL_set_tlsext_host_name(tls, name.c_str());
}

std::string subject_entry(X509* certificate, int nid) {
    const X509_NAME* name = X509_get_subject_name(certificate);
    const int index = X509_NAME_get_index_by_NID(name, nid, -1);
    if (index < 0) return "";
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
    const std::string entry(reinterpret_cast<char*>(text), size < 0 ? 0 : size);
    OPENSSL_free(text);
    return entry;
}

}  // namespace rm::openssl
