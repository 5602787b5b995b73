#include "service/security/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "service/security/openssl.h"
#include "service/state_dir.h"

namespace rm {

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

}  // namespace rm
