// A line of gRPC's log, with a source position, preceded the CLI's own message about an untrusted
// certificate.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Regress0082 : public E2eTest {
protected:
    // Expects one line, our own.
    void expect_own_words(const Finished& run) {
        EXPECT_NE(run.code, 0);
        EXPECT_THAT(run.err, StartsWith("ringmaster: "));
        EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
        EXPECT_EQ(run.out, "");
    }
};

TEST_F(Regress0082, AWrongAuthorityIsExplainedInWordsOfOursAlone) {
    for (const char* authority : {"pki", "other"})
        ASSERT_EQ(cli({"pki", "init", "--dir", path(authority)}).code, 0);
    ASSERT_EQ(cli({"pki", "issue", "--dir", path("pki"), "--role", "server", "--name", "server",
                   "--san", "127.0.0.1", "-o", path("server")})
                  .code,
              0);
    const std::string address = format("127.0.0.1:{}", free_port());
    const auto controller =
        start({program("ringmaster-controller"), "--state", path("c"), "--listen", address,
               "--http", "none", "--tls-cert", path("server.crt"), "--tls-key", path("server.key"),
               "--client-ca", path("pki/ca.crt")});
    ASSERT_TRUE(wait_until(Seconds{20}, [&] {
        return controller->err().find("listening") != std::string::npos;
    })) << controller->err();
    const Finished wrong = cli({"--address", address, "--ca", path("other/ca.crt"), "ls"});
    expect_own_words(wrong);
    EXPECT_THAT(wrong.err, HasSubstr(address));
    const Finished none = cli({"--address", address, "--ca", path("server.key"), "ls"});
    expect_own_words(none);
    controller->signal(SIGTERM);
    EXPECT_EQ(controller->wait(Seconds{30}), 0) << controller->err();
}

}  // namespace
}  // namespace rm::e2e
