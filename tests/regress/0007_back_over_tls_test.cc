#include <csignal>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

// Clients whose connection was refused once, as while the controller restarts, never reconnected
// over TLS: calls on a channel that cannot connect fail at once, and nothing drove the handshake of
// its next try. Found in the lab, by restoring a backup under a running job. (A server in the same
// process would have driven it.)
namespace rm::e2e {
namespace {

class Regress0007 : public E2eTest {
protected:
    void issue(const std::string& role, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"pki", "issue",  "--dir", path("pki"), "--role",
                                              role,  "--name", role,    "-o",        path(role)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        ASSERT_EQ(cli(arguments).code, 0);
    }
    static void end(Process& daemon) {
        daemon.signal(SIGTERM);
        EXPECT_EQ(daemon.wait(Seconds{30}), 0) << daemon.err();
    }
    static bool says(const Process& worker, const std::string& words) {
        return wait_until(Seconds{10},
                          [&] { return worker.err().find(words) != std::string::npos; });
    }
};

TEST_F(Regress0007, AWorkerThatWasRefusedConnectsOverTlsOnceTheControllerIsThere) {
    ASSERT_EQ(cli({"pki", "init", "--dir", path("pki")}).code, 0);
    issue("server", {"--san", "127.0.0.1"});
    issue("worker");
    const std::string address = format("127.0.0.1:{}", free_port());
    const auto worker = start({program("ringmaster-worker"), "--state", path("w"), "--controller",
                               address, "--ca", path("pki/ca.crt"), "--cert", path("worker.crt"),
                               "--key", path("worker.key"), "--http", "none", "--orphan", "stop"});
    ASSERT_TRUE(says(*worker, "refused")) << worker->err();
    const auto controller =
        start({program("ringmaster-controller"), "--state", path("c"), "--listen", address,
               "--http", "none", "--tls-cert", path("server.crt"), "--tls-key", path("server.key"),
               "--client-ca", path("pki/ca.crt")});
    EXPECT_TRUE(says(*worker, "session_up")) << worker->err();
    end(*worker);
    end(*controller);
}

}  // namespace
}  // namespace rm::e2e
