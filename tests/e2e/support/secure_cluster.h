#pragma once

#include <csignal>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {

// A controller with TLS on loopback, set up as docs/security.md says, with contexts for its users:
// vera (viewer, token), sam (submitter, token), root (admin, certificate); a fifth has none.
class SecureCluster : public E2eTest {
protected:
    SecureCluster() {
        ok({"pki", "init", "--dir", path("pki")});
        issue("server", "controller", {"--san", "localhost", "--san", "127.0.0.1"});
        issue("admin", "root");
        issue("worker", "lab-*");
        make_token("viewer", "vera");
        make_token("submitter", "sam");
        start_controller();
        write_contexts();
    }
    ~SecureCluster() override {
        for (const auto& daemon : daemons_) {
            daemon->signal(SIGTERM);
            EXPECT_EQ(daemon->wait(Seconds{30}), 0) << daemon->err();
            EXPECT_EQ(daemon->err().find(" error ringmaster"), std::string::npos) << daemon->err();
        }
    }

    std::string ok(std::vector<std::string> arguments) {
        const Finished run = cli(std::move(arguments));
        EXPECT_EQ(run.code, 0) << run.err;
        return run.out;
    }
    void issue(const std::string& role, const std::string& name,
               std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {"pki", "issue",  "--dir", path("pki"), "--role",
                                              role,  "--name", name,    "-o",        path(role)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        ok(std::move(arguments));
    }
    void make_token(const std::string& role, const std::string& name) {
        ok({"pki", "token", "--dir", path("pki"), "--role", role, "--name", name, "-o",
            path(role + ".token")});
    }
    void start_controller() {
        daemons_.push_back(
            start({program("ringmaster-controller"), "--state", path("controller"), "--listen",
                   "127.0.0.1:0", "--http", "none", "--tls-cert", path("server.crt"), "--tls-key",
                   path("server.key"), "--client-ca", path("pki/ca.crt"), "--deny-list",
                   path("pki/deny-list"), "--tokens", path("pki/tokens.yaml")}));
        const std::string info = path("controller/controller.json");
        ASSERT_TRUE(wait_until(Seconds{20}, [&] { return !read_file(info).empty(); }))
            << daemons_.back()->err();
        address_ = Json::parse(read_file(info))["grpc"][0];
    }
    void write_contexts() {
        const std::string base = format("address: \"{}\", ca: {}", address_, path("pki/ca.crt"));
        std::filesystem::create_directories(path("home/.config/ringmaster"));
        write_file(path("home/.config/ringmaster/config.yaml"),
                   format("current: vera\ncontexts:\n"
                          "  vera: {{{}, token_file: {}}}\n"
                          "  sam: {{{}, token_file: {}}}\n"
                          "  root: {{{}, cert: {}, key: {}}}\n"
                          "  nobody: {{{}}}\n",
                          base, path("viewer.token"), base, path("submitter.token"), base,
                          path("admin.crt"), path("admin.key"), base));
    }
    // `controller`: the address to dial; empty: that of this controller.
    const Process& start_worker(const std::vector<std::string>& more,
                                const std::string& controller = "") {
        std::vector<std::string> argv = {program("ringmaster-worker"),
                                         "--state",
                                         path("worker"),
                                         "--controller",
                                         controller.empty() ? address_ : controller,
                                         "--devices",
                                         "cpu:2",
                                         "--http",
                                         "none",
                                         "--orphan",
                                         "stop"};
        argv.insert(argv.end(), more.begin(), more.end());
        daemons_.push_back(start(argv));
        return *daemons_.back();
    }
    // As options of the programs.
    std::vector<std::string> with(const std::string& role) const {
        return {"--ca",  path("pki/ca.crt"), "--cert", path(role + ".crt"),
                "--key", path(role + ".key")};
    }
    static bool says(const Process& worker, const std::string& words) {
        return wait_until(Seconds{30},
                          [&] { return worker.err().find(words) != std::string::npos; });
    }
    Finished as(const std::string& context, std::vector<std::string> arguments,
                Seconds limit = Seconds{60}) {
        arguments.insert(arguments.begin(), {"--context", context});
        return cli(std::move(arguments), limit);
    }

    std::string address_;

private:
    std::vector<std::unique_ptr<Process>> daemons_;
};

}  // namespace rm::e2e
