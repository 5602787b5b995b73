#include <csignal>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

void expect_in(const std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
    }
}

// A controller with TLS on loopback, set up as docs/security.md says, with contexts for its users.
class SecureCluster : public E2eTest {
protected:
    SecureCluster() {
        ok({"pki", "init", "--dir", path("pki")});
        issue("server", "controller", {"--san", "localhost", "--san", "127.0.0.1"});
        issue("admin", "root");
        issue("worker", "lab-*");
        write_file(path("viewer.token"), token("viewer", "vera"));
        write_file(path("submitter.token"), token("submitter", "sam"));
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
    std::string token(const std::string& role, const std::string& name) {
        return ok({"pki", "token", "--dir", path("pki"), "--role", role, "--name", name});
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
    const Process& start_worker(const std::vector<std::string>& credentials) {
        std::vector<std::string> argv = {program("ringmaster-worker"),
                                         "--state",
                                         path("worker"),
                                         "--controller",
                                         address_,
                                         "--devices",
                                         "cpu:2",
                                         "--http",
                                         "none",
                                         "--orphan",
                                         "stop"};
        argv.insert(argv.end(), credentials.begin(), credentials.end());
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

TEST_F(SecureCluster, TrainsAJobOfAWorkerWithACertificateAndTellsWhoDidWhat) {
    start_worker(with("worker"));
    const Finished job = as("sam", {"submit", write_job({}), "--follow"}, Seconds{120});
    EXPECT_EQ(job.code, 0) << job.out << job.err;
    const Json nodes = Json::parse(ok({"nodes", "-o", "json"}));
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0]["id"].get<std::string>().substr(0, 4), "lab-");
    EXPECT_EQ(Json::parse(ok({"history", "-o", "json"}))[0]["owner"], "sam");

    const Finished denied = as("vera", {"submit", write_job({})});
    EXPECT_EQ(denied.code, 7) << denied.err;
    expect_in(denied.err, {"permission denied", "'vera' is viewer", "demands submitter"});
    EXPECT_EQ(as("vera", {"audit"}).code, 7);
    const Finished audit = as("root", {"audit", "-o", "json"});
    ASSERT_EQ(audit.code, 0) << audit.err;
    const Json rows = Json::parse(audit.out);
    ASSERT_EQ(rows.size(), 3u) << audit.out;
    EXPECT_EQ(rows[0]["principal"], "vera");
    EXPECT_EQ(rows[1]["code"], "permission denied");
    EXPECT_EQ(rows[2]["principal"], "sam");
    EXPECT_EQ(rows[2]["code"], "ok");
    expect_in(as("root", {"audit", "--refused"}).out, {"LAST", "WHO", "vera", "JobService/Submit"});
}

TEST_F(SecureCluster, ASubmitterMayNotDrainByTokenOrByCertificate) {
    start_worker(with("worker"));
    issue("submitter", "sue");
    std::string node;
    ASSERT_TRUE(wait_until(Seconds{30}, [&] {
        node = ok({"nodes", "-o", "name"});
        return !node.empty();
    }));
    node.pop_back();
    const Finished token = as("sam", {"drain", node});
    std::vector<std::string> drain = {"--address", address_, "drain", node};
    const auto credentials = with("submitter");
    drain.insert(drain.begin(), credentials.begin(), credentials.end());
    const Finished certificate = cli(drain);
    for (const auto& [refused, who] :
         {std::pair(token, "'sam'"), std::pair(certificate, "'sue'")}) {
        EXPECT_EQ(refused.code, 7) << refused.err;
        expect_in(refused.err, {"permission denied", who, "is submitter", "demands admin"});
    }
    EXPECT_EQ(Json::parse(ok({"nodes", "-o", "json"}))[0]["drained"], "");
    const Json rows = Json::parse(as("root", {"audit", "--refused", "-o", "json"}).out);
    ASSERT_EQ(rows.size(), 2u) << rows.dump(2);
    for (const Json& row : rows) {
        EXPECT_EQ(row["code"], "permission denied");
        expect_in(row["method"], {"NodeService/Drain"});
    }
    EXPECT_EQ(rows[0]["principal"], "sue");
    EXPECT_EQ(rows[1]["principal"], "sam");
}

TEST_F(SecureCluster, SaysInOneLineWhyACallerIsRefused) {
    const Finished nobody = as("nobody", {"ls"});
    EXPECT_EQ(nobody.code, 7) << nobody.err;
    expect_in(nobody.err, {"unauthenticated: no credential", "token file"});

    write_file(path("wrong.token"), "rm_0000\n");
    const Finished wrong = as("nobody", {"ls", "--token-file", path("wrong.token")});
    EXPECT_EQ(wrong.code, 7) << wrong.err;
    expect_in(wrong.err, {"the token is not known"});
    EXPECT_EQ(wrong.err.find("rm_0000"), std::string::npos);

    ok({"pki", "revoke", "--dir", path("pki"), path("admin.crt")});
    const Finished revoked = as("root", {"ls"});
    EXPECT_EQ(revoked.code, 7) << revoked.err;
    expect_in(revoked.err, {"the certificate of 'root'", "is revoked"});
}

TEST_F(SecureCluster, SaysWhenTheTwoSidesDisagreeAboutTls) {
    const Finished plain = cli({"--address", address_, "ls"});
    EXPECT_EQ(plain.code, 4) << plain.err;
    expect_in(plain.err, {address_, "speaks TLS", "--ca"});

    ok({"pki", "init", "--dir", path("other")});
    const Finished unbelieved = as("vera", {"ls", "--ca", path("other/ca.crt")});
    EXPECT_EQ(unbelieved.code, 4) << unbelieved.err;
    expect_in(unbelieved.err, {"the certificate of the controller", "is not believed", "other/ca"});

    const Finished misnamed = as("vera", {"ls", "--server-name", "elsewhere.lab"});
    EXPECT_EQ(misnamed.code, 4) << misnamed.err;
    expect_in(misnamed.err, {"is not for 'elsewhere.lab'", "--san"});

    const auto up = this->up(path("plain"), {"--workers", "1", "--listen", "127.0.0.1:0"});
    ASSERT_TRUE(up);
    const std::string open = Json::parse(read_file(path("plain/ringmaster.json")))["grpc"][0];
    const Finished tls = cli({"--address", open, "--ca", path("pki/ca.crt"), "ls"});
    EXPECT_EQ(tls.code, 4) << tls.err;
    expect_in(tls.err, {open, "does not speak TLS"});
    stop(*up);
}

TEST_F(SecureCluster, AWorkersLogSaysThatTheControllerSpeaksTls) {
    const Process& worker = start_worker({});
    EXPECT_TRUE(says(worker, "speaks TLS")) << worker.err();
}

TEST_F(SecureCluster, AWorkersLogSaysWhatItsCertificateIsNotGoodFor) {
    issue("viewer", "eve");
    const Process& worker = start_worker(with("viewer"));
    EXPECT_TRUE(
        says(worker, "'eve' is viewer; /ringmaster.v1.WorkerService/Session demands worker"))
        << worker.err();
}

TEST_F(SecureCluster, KeysAndTokensAreForTheirOwnerAloneAndNeverOverwritten) {
    using std::filesystem::perms;
    for (const char* file : {"pki/ca.key", "worker.key", "pki/tokens.yaml"}) {
        const auto mode = std::filesystem::status(path(file)).permissions();
        EXPECT_EQ(mode & (perms::group_all | perms::others_all), perms::none) << file;
    }
    EXPECT_EQ(read_file(path("pki/tokens.yaml")).find(read_file(path("viewer.token"))),
              std::string::npos);
    EXPECT_EQ(cli({"pki", "init", "--dir", path("pki")}).code, 4);
    const Finished again = cli({"pki", "issue", "--dir", path("pki"), "--role", "viewer", "--name",
                                "x", "-o", path("worker")});
    EXPECT_EQ(again.code, 4);
    expect_in(again.err, {"worker.crt exists and is not overwritten"});
    const Finished server = cli(
        {"pki", "issue", "--dir", path("pki"), "--role", "server", "--name", "x", "-o", path("x")});
    expect_in(server.err, {"--san"});
}

}  // namespace
}  // namespace rm::e2e
