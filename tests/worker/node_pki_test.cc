#include "worker/join/node_pki.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "service/state_dir.h"
#include "tests/support/temp_dir.h"
#include "worker/join/renewal.h"

namespace rm {
namespace {

const WallTime kNow{1'790'000'000'000'000};

KeyPair node_pair() {
    static const KeyPair ca = make_authority("test", kNow, 10).value();
    static const KeyPair nodes = make_node_authority(ca, "nodes", kNow, 9).value();
    KeyPair pair;
    pair.key = make_private_key().value();
    pair.certificate = issue_for_node(nodes, make_signing_request(pair.key).value(),
                                      {"rack1-0f", kNow, Seconds{600}})
                           .value();
    return pair;
}

struct NodePkiTest : testing::Test {
    TempDir directory;
    const NodePki pki{directory / "pki"};

    void join(const KeyPair& pair) {
        std::filesystem::create_directories(directory / "pki");
        ASSERT_TRUE(write_file_atomically(pki.key(), pair.key));
        ASSERT_TRUE(pki.keep_first(pair.certificate));
    }
};

TEST_F(NodePkiTest, TheFirstKeyStaysTheSameUntilThereIsACertificateAndIsForItsOwnerAlone) {
    EXPECT_FALSE(pki.has_joined().value());
    const std::string key = pki.first_key().value();
    EXPECT_EQ(pki.first_key().value(), key) << "a repeated request takes no second use";
    EXPECT_FALSE(pki.has_joined().value());
    struct stat facts {};
    ASSERT_EQ(::stat(pki.key().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(NodePkiTest, ARenewalReplacesKeyAndCertificate) {
    join(node_pair());
    const KeyPair next = node_pair();
    ASSERT_TRUE(pki.replace(next));
    EXPECT_TRUE(pki.has_joined().value());
    EXPECT_EQ(read_small_file(pki.key()).value(), next.key);
    EXPECT_EQ(read_small_file(pki.certificate()).value(), next.certificate);
}

TEST_F(NodePkiTest, ARenewalThatACrashHasCutInHalfIsCompletedAtTheNextStart) {
    join(node_pair());
    const KeyPair next = node_pair();
    directory.write("pki/worker.crt.next", next.certificate);
    directory.write("pki/worker.key", next.key);  // in its place, the certificate not yet
    EXPECT_TRUE(pki.has_joined().value());
    EXPECT_EQ(read_small_file(pki.certificate()).value(), next.certificate);
    directory.write("pki/worker.key", node_pair().key);
    EXPECT_FALSE(pki.has_joined()) << "a key of neither certificate";
}

TEST(Renewal, IsDueAfterTwoThirdsAndIsTriedOftenBeforeTheEnd) {
    const Lifetime month{kNow, kNow + Seconds{30 * 86400.0}};
    EXPECT_EQ(renewal_time(month), kNow + Seconds{20 * 86400.0});
    EXPECT_EQ(retry_pause(month), Seconds{600});
    EXPECT_EQ(retry_pause({kNow, kNow + Seconds{9}}), Seconds{1});
}

}  // namespace
}  // namespace rm
