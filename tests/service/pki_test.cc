#include "service/security/pki.h"

#include <gtest/gtest.h>

#include "service/security/client_authority.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

constexpr Seconds kDay{86400};
const WallTime kNow{1'790'000'000'000'000};

KeyPair authority() {
    static const KeyPair made = make_authority("test", kNow, 10).value();
    return made;
}
KeyPair client(const std::string& name = "alice", Role role = Role::viewer) {
    return issue(authority(), {.name = name, .role = role, .days = 2}, kNow).value();
}
ClientAuthority judge() {
    return ClientAuthority::parse(authority().certificate).value();
}

TEST(Pki, ACertificateSaysWhoItIsForAndItsSerialIsItsOwn) {
    const KeyPair pair = client("alice", Role::submitter);
    const auto facts = judge().verify(pair.certificate, kNow);
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->name, "alice");
    EXPECT_EQ(facts->unit, "submitter");
    EXPECT_EQ(facts->serial, serial_of(pair.certificate).value());
    EXPECT_GE(facts->serial.size(), 30u);
    EXPECT_NE(facts->serial, serial_of(client().certificate).value());
}

TEST(Pki, ACertificateIsGoodForItsDaysAndForClocksALittleBehind) {
    const std::string pem = client().certificate;
    EXPECT_TRUE(judge().verify(pem, kNow + Seconds{-200}));
    EXPECT_FALSE(judge().verify(pem, kNow + Seconds{-400}));
    EXPECT_TRUE(judge().verify(pem, kNow + Seconds{2 * kDay.value - 10}));
    const auto late = judge().verify(pem, kNow + Seconds{2 * kDay.value + 10});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::unauthenticated);
    EXPECT_EQ(late.error().message.find("the certificate of 'alice' expired at 2026-09-"), 0u)
        << late.error().message;
}

TEST(Pki, ACertificateThatWasGoodIsLookedAtAgainWhenItsTimeIsOver) {
    const std::string pem = client().certificate;
    const ClientAuthority one = judge();
    EXPECT_TRUE(one.verify(pem, kNow));
    EXPECT_EQ(one.verify(pem, kNow).value().name, "alice");
    EXPECT_FALSE(one.verify(pem, kNow + Seconds{2 * kDay.value + 10}));
    EXPECT_FALSE(one.verify(pem, kNow + Seconds{-400}));
    EXPECT_TRUE(one.verify(pem, kNow));
}

TEST(Pki, AnIssuerThatHasExpiredEndsWhatItSigned) {
    const KeyPair brief = make_authority("brief", kNow, 1).value();
    const ClientAuthority one = ClientAuthority::parse(brief.certificate).value();
    const auto pair = issue(brief, {.name = "bob", .role = Role::viewer, .days = 5}, kNow);
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_TRUE(one.verify(pair->certificate, kNow));
    EXPECT_FALSE(one.verify(pair->certificate, kNow + Seconds{2 * kDay.value}));
}

TEST(Pki, WhatAnotherAuthorityHasSignedIsNotRepeatedInTheReason) {
    const KeyPair other = make_authority("test", kNow, 10).value();
    const KeyPair mallory =
        issue(other, {.name = "<mallory>", .role = Role::admin, .days = 1}, kNow).value();
    const auto refused = judge().verify(mallory.certificate, kNow);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message.find("mallory"), std::string::npos);
    const auto late = judge().verify(mallory.certificate, kNow + Seconds{5 * kDay.value});
    EXPECT_EQ(late.error().message.find("mallory"), std::string::npos);
}

TEST(Pki, OnlyClientsCertificatesAreClients) {
    const KeyPair server = issue(authority(), {.name = "c", .subject_names = {"c"}}, kNow).value();
    EXPECT_FALSE(judge().verify(server.certificate, kNow));
    EXPECT_FALSE(judge().verify(authority().certificate, kNow)) << "nor is the authority";
    EXPECT_FALSE(judge().verify("", kNow));
    EXPECT_FALSE(judge().verify("-----BEGIN CERTIFICATE-----\nAAAA\n", kNow));
}

TEST(Pki, OrdersThatMakeNoSenseAreRefused) {
    const auto refused = [](const CertificateOrder& order) {
        return !issue(authority(), order, kNow).ok();
    };
    EXPECT_TRUE(refused({.name = "", .role = Role::viewer}));
    EXPECT_TRUE(refused({.name = std::string(65, 'x'), .role = Role::viewer}));
    EXPECT_TRUE(refused({.name = "x", .role = Role::viewer, .days = 0}));
    EXPECT_TRUE(refused({.name = "server without names"}));
    EXPECT_TRUE(refused({.name = "c", .subject_names = {"a,IP:1.2.3.4"}}));
    EXPECT_FALSE(refused({.name = "c", .subject_names = {"*.lab", "fd00::1", "10.0.0.1"}}));
}

TEST(Pki, AKeyThatBelongsToAnotherCertificateIsNoticed) {
    const TempDir directory;
    const KeyPair one = client();
    directory.write("one.crt", one.certificate);
    directory.write("one.key", one.key);
    directory.write("two.key", client().key);
    EXPECT_TRUE(read_key_pair(directory / "one.crt", directory / "one.key"));
    const auto mixed = read_key_pair(directory / "one.crt", directory / "two.key");
    EXPECT_EQ(mixed.error().message, format("the key in {} is not that of the certificate in {}",
                                            directory / "two.key", directory / "one.crt"));
    EXPECT_FALSE(read_key_pair(directory / "one.key", directory / "one.key"));
    EXPECT_FALSE(read_key_pair(directory / "none", directory / "one.key"));
}

}  // namespace
}  // namespace rm
