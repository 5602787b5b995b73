#include "tests/e2e/support/secure_cluster.h"

namespace rm::e2e {
namespace {

void expect_in(const std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
    }
}

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
    expect_in(denied.err,
              {"permission denied", "'vera' has the role viewer", "needs the role submitter"});
    EXPECT_EQ(as("vera", {"audit"}).code, 7);
    const Finished audit = as("root", {"audit", "-o", "json"});
    ASSERT_EQ(audit.code, 0) << audit.err;
    std::vector<Json> rows;
    std::vector<Json> of_worker;
    for (const Json& row : Json::parse(audit.out))
        (row["subject"] == nodes[0]["id"] ? of_worker : rows).push_back(row);
    ASSERT_EQ(rows.size(), 3u) << audit.out;
    ASSERT_EQ(of_worker.size(), 1u) << audit.out;
    EXPECT_EQ(of_worker[0]["method"], "session begins");
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
        expect_in(refused.err,
                  {"permission denied", who, "has the role submitter", "needs the role admin"});
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
    std::filesystem::permissions(path("wrong.token"), std::filesystem::perms(0644));
    const Finished open = as("nobody", {"ls", "--token-file", path("wrong.token")});
    EXPECT_EQ(open.code, 7) << open.err;
    expect_in(open.err, {"wrong.token can be read or changed by other users", "chmod 600"});
    std::filesystem::permissions(path("wrong.token"), std::filesystem::perms(0600));
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
    expect_in(unbelieved.err, {"other/ca", "did not sign the certificate of the controller"});

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
        says(worker, "WorkerService/Session needs the role worker; 'eve' has the role viewer"))
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
