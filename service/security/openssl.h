#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

// Owners of OpenSSL's objects; only sources of service/security include this.
namespace rm::openssl {

template <auto kFree>
struct Free {
    template <typename T>
    void operator()(T* object) const {
        kFree(object);
    }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Request = std::unique_ptr<X509_REQ, Free<X509_REQ_free>>;
using Serial = std::unique_ptr<ASN1_INTEGER, Free<ASN1_INTEGER_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Free<SSL_free>>;

// The newest error of this thread as an INTERNAL error; the others are forgotten.
Error last_error(std::string_view doing);

Bio read_bio(std::string_view text);  // over `text`, which outlives it
std::string contents(BIO* bio);       // of a memory BIO
std::string hex(std::span<const unsigned char> bytes);
std::string serial_text(X509* certificate);  // upper-case hexadecimal
std::string fingerprint(X509* certificate);  // sha256:HEX of its DER form
// Makes a client demand that the server's certificate names this host or IP address.
void expect_name(SSL* tls, const std::string& name);
// One entry of its subject (NID_commonName, ...); empty: there is none.
std::string subject_entry(X509* certificate, int nid);

}  // namespace rm::openssl
