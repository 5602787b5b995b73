#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "service/security/authenticator.h"
#include "service/security/openssl.h"
#include "service/security/pki.h"
#include "service/security/server_chain.h"
#include "tests/support/temp_dir.h"

// The authority for nodes, and what it makes of signing requests.
namespace rm {
namespace {

const WallTime kNow{1'790'000'000'000'000};

const KeyPair& ca() {
    static const KeyPair made = make_authority("test", kNow, 10).value();
    return made;
}
const KeyPair& nodes() {
    static const KeyPair made = make_node_authority(ca(), "nodes", kNow, 9).value();
    return made;
}
std::string request() {
    return make_signing_request(make_private_key().value()).value();
}
std::string node_certificate(const std::string& name, Seconds lifetime = {600}) {
    return issue_for_node(nodes(), request(), {name, kNow, lifetime}).value();
}

struct Parsed {
    openssl::Certificate certificate;
    explicit Parsed(const std::string& pem)
        : certificate(PEM_read_bio_X509(openssl::read_bio(pem).get(), nullptr, nullptr, nullptr)) {}
};

// As any program that trusts the CA judges a chain.
int verdict(const std::string& leaf, int purpose, const std::string& below = "") {
    const Parsed root(ca().certificate);
    const Parsed between(nodes().certificate);
    const Parsed own(leaf);
    const openssl::Store store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), root.certificate.get());
    STACK_OF(X509)* chain = sk_X509_new_null();
    sk_X509_push(chain, between.certificate.get());
    const Parsed more(below.empty() ? ca().certificate : below);
    sk_X509_push(chain, more.certificate.get());
    const openssl::StoreContext context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), store.get(), own.certificate.get(), chain);
    X509_STORE_CTX_set_purpose(context.get(), purpose);
    X509_STORE_CTX_set_time(context.get(), 0, kNow.micros / 1'000'000);
    X509_verify_cert(context.get());
    const int code = X509_STORE_CTX_get_error(context.get());
    sk_X509_free(chain);
    return code;
}

// A request of a key of another kind.
std::string request_of(EVP_PKEY* pkey) {
    const openssl::Key key(pkey);
    const openssl::Bio out(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return make_signing_request(openssl::contents(out.get())).value();
}

TEST(Signing, ANodesCertificateIsForTheKeyOfTheRequestAndSaysWhatTheAuthorityDecides) {
    const std::string key = make_private_key().value();
    const std::string asked = make_signing_request(key).value();
    const std::string pem = issue_for_node(nodes(), asked, {"rack1-0f", kNow, {600}}).value();
    const TempDir directory;
    directory.write("own.crt", pem);
    directory.write("own.key", key);
    EXPECT_TRUE(read_key_pair(directory / "own.crt", directory / "own.key"));
    EXPECT_EQ(name_of(pem).value(), "rack1-0f");
    const auto lifetime = lifetime_of(pem).value();
    EXPECT_EQ(lifetime.from, kNow);
    EXPECT_EQ(lifetime.until, kNow + Seconds{600});
    EXPECT_EQ(verdict(pem, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST(Signing, ARequestMustProveItsKeyAndTheKeyMustBeStrong) {
    EXPECT_EQ(requested_key(request()).value().size(), 64u);
    std::string broken = request();
    const auto place = broken.find('\n', broken.size() / 2) - 4;
    broken[place] = broken[place] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(requested_key(broken));
    EXPECT_FALSE(requested_key("nonsense"));
    EXPECT_FALSE(requested_key(request() + std::string(10'000, ' ')));
    EXPECT_TRUE(requested_key(request_of(EVP_EC_gen("P-384"))));
    for (EVP_PKEY* weak : {EVP_EC_gen("P-224"), EVP_EC_gen("secp256k1"), EVP_RSA_gen(2048)}) {
        const auto refused = requested_key(request_of(weak));
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("P-256"), std::string::npos);
    }
}

TEST(Signing, WithAStolenKeyOfTheAuthorityForNodesNobodyIsAServer) {
    const KeyPair server =
        issue(nodes(), {.name = "controller", .subject_names = {"controller.lab"}, .days = 1}, kNow)
            .value();
    EXPECT_EQ(verdict(server.certificate, X509_PURPOSE_SSL_SERVER), X509_V_ERR_INVALID_PURPOSE);
    const KeyPair below = make_node_authority(nodes(), "below", kNow, 1).value();
    const KeyPair client = issue(below, {.name = "x", .role = Role::worker}, kNow).value();
    EXPECT_EQ(verdict(client.certificate, X509_PURPOSE_SSL_CLIENT, below.certificate),
              X509_V_ERR_PATH_LENGTH_EXCEEDED);
}

TEST(Signing, WithAStolenKeyOfTheAuthorityForNodesNobodyIsAnAdmin) {
    const TempDir directory;
    directory.write("ca", ca().certificate);
    directory.write("nodes", nodes().certificate);
    directory.write("denied", "");
    const auto judge = Authenticator::open({.client_ca = directory / "ca",
                                            .deny_list = directory / "denied",
                                            .tokens = "",
                                            .node_authority = directory / "nodes"})
                           .value();
    const auto identify = [&](const std::string& pem) {
        return judge->identify({.certificate = pem}, kNow);
    };
    const auto worker = identify(node_certificate("rack1-0f"));
    ASSERT_TRUE(worker) << worker.error().message;
    EXPECT_EQ(worker->role, Role::worker);
    EXPECT_TRUE(worker->of_nodes);
    const KeyPair by_hand = issue(ca(), {.name = "rack1-*", .role = Role::worker}, kNow).value();
    EXPECT_FALSE(identify(by_hand.certificate).value().of_nodes);
    EXPECT_TRUE(identify(issue(ca(), {.name = "a", .role = Role::admin}, kNow)->certificate));
    for (const Role role : {Role::admin, Role::submitter, Role::viewer, Role::joiner}) {
        const KeyPair forged =
            issue(nodes(), {.name = "mallory", .role = role, .days = 1}, kNow).value();
        EXPECT_FALSE(identify(forged.certificate)) << to_string(role);
    }
    EXPECT_FALSE(identify(node_certificate("rack1-*"))) << "it would speak for other nodes";
    EXPECT_FALSE(identify(nodes().certificate)) << "the authority itself";
    directory.write("denied", serial_of(nodes().certificate).value() + "\n");
    EXPECT_FALSE(identify(node_certificate("rack1-0f"))) << "its authority is revoked";
}

TEST(Signing, AFingerprintIsTheShaOfTheCertificateInDer) {
    const std::string mark = fingerprint_of(ca().certificate).value();
    EXPECT_EQ(mark.size(), 7u + 64);
    EXPECT_EQ(parse_fingerprint(mark).value(), mark);
    EXPECT_EQ(fingerprint_of(ca().certificate + nodes().certificate).value(), mark);
    EXPECT_NE(fingerprint_of(nodes().certificate).value(), mark);
    for (const std::string wrong : {"", "sha256:", "sha1:00", "sha256:zz"})
        EXPECT_FALSE(parse_fingerprint(wrong)) << wrong;
}

TEST(Signing, TheAuthorityOfAChainIsItsLastCertificateIfThatSignedItself) {
    const KeyPair server =
        issue(ca(), {.name = "c", .subject_names = {"10.0.0.5", "controller.lab"}}, kNow).value();
    EXPECT_EQ(authority_in(server.certificate + ca().certificate).value(), ca().certificate);
    const auto none = authority_in(server.certificate);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("append ca.crt"), std::string::npos);
    EXPECT_FALSE(authority_in(server.certificate + nodes().certificate));
    EXPECT_EQ(first_host_of(server.certificate).value(), "10.0.0.5");
    EXPECT_EQ(first_host_of(ca().certificate).value(), "");
}

}  // namespace
}  // namespace rm
