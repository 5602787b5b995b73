#include "controller/join/join_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/temp_dir.h"

namespace rm {
namespace {

const WallTime kNow{1'790'000'000'000'000};

struct JoinTables : testing::Test {
    TempDir directory;
    std::unique_ptr<JoinStore> store = open();

    std::unique_ptr<JoinStore> open() { return JoinStore::open(directory / "join.db").value(); }
    void add_token(const std::string& hash, int uses, Seconds valid = {60}) {
        ASSERT_TRUE(store->add(JoinToken{.id = hash.substr(0, 2),
                                         .hash = hash,
                                         .creator = "root",
                                         .created = kNow,
                                         .expires = kNow + valid,
                                         .uses = uses,
                                         .used = 0,
                                         .revoked = std::nullopt}));
    }
    static NodeCertificate certificate(const std::string& serial, WallTime now = kNow) {
        return {.serial = serial,
                .node = {"rack1-" + serial},
                .token = "ab",
                .key = "key of " + serial,
                .address = "ipv4:10.0.0.7:4242",
                .issued = now,
                .expires = now + Seconds{600},
                .revoked = std::nullopt,
                .pem = "PEM"};
    }
};

void expect_refused(const Status& status, const std::string& why) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::unauthenticated);
    EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
}

TEST_F(JoinTables, AUseAndItsCertificateAreKeptTogetherAcrossARestart) {
    add_token("abcd", 2);
    ASSERT_TRUE(store->take_use("abcd", certificate("1")));
    store = open();
    EXPECT_EQ(store->find_token("abcd").value()->used, 1);
    EXPECT_EQ(store->find_joined("ab", "key of 1").value()->node, NodeId{"rack1-1"});
    EXPECT_FALSE(store->find_joined("ab", "key of 2").value());
    EXPECT_FALSE(store->find_token("ef").value());
}

TEST_F(JoinTables, ATokenAdmitsNobodyOnceUsedUpExpiredOrRevoked) {
    add_token("abcd", 1);
    ASSERT_TRUE(store->take_use("abcd", certificate("1")));
    expect_refused(store->take_use("abcd", certificate("2")), "is used up: 1 of 1");
    EXPECT_FALSE(store->find_joined("ab", "key of 2").value()) << "no use, no certificate";
    add_token("cdef", 9, {1});
    expect_refused(store->take_use("cdef", certificate("3", kNow + Seconds{2})), "expired at");
    add_token("efgh", 9);
    ASSERT_TRUE(store->revoke_token("ef", kNow));
    expect_refused(store->take_use("efgh", certificate("4")), "was revoked at");
    expect_refused(store->take_use("none", certificate("5")), "not known");
}

TEST_F(JoinTables, TheLastUseHasOneWinnerWhoeverAsks) {
    add_token("abcd", 3);
    std::atomic<int> won = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; ++i) {
        callers.emplace_back([&, i, own = open()] {
            if (own->take_use("abcd", certificate(std::to_string(i)))) ++won;
        });
    }
    for (std::thread& caller : callers)
        caller.join();
    EXPECT_EQ(won, 3);
    EXPECT_EQ(store->find_token("abcd").value()->used, 3);
}

TEST_F(JoinTables, ARemovedNodesCertificatesAreRevokedAndOldOnesForgotten) {
    ASSERT_TRUE(store->add(certificate("1")));
    ASSERT_TRUE(store->revoke_node({"rack1-1"}, kNow + Seconds{5}));
    EXPECT_EQ(store->certificates_of({"rack1-1"}).value().at(0).revoked, kNow + Seconds{5});
    EXPECT_FALSE(store->find_joined("ab", "key of 1").value());
    ASSERT_TRUE(store->add(certificate("2")));
    EXPECT_EQ(store->revoked_nodes().value(), std::vector<NodeId>{{"rack1-1"}});
    add_token("abcd", 1);
    ASSERT_TRUE(store->forget(kNow + Seconds{300}));
    EXPECT_TRUE(store->tokens().value().empty());
    EXPECT_EQ(store->certificates_of({"rack1-1"}).value().size(), 1u);
    ASSERT_TRUE(store->forget(kNow + Seconds{700}));
    EXPECT_TRUE(store->certificates_of({"rack1-1"}).value().empty());
}

}  // namespace
}  // namespace rm
