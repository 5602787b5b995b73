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

std::string serial_text(X509* certificate) {
    const Number number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
    char* text = number ? BN_bn2hex(number.get()) : nullptr;
    const std::string serial = text == nullptr ? "" : text;
    OPENSSL_free(text);
    return serial;
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
