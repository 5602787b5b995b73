#include "service/security/server_chain.h"
#include "tests/controller/fake_worker.h"
#include "tests/controller/secured.h"

// Machines that join a controller over real TLS, stay, and are removed.
namespace rm::test {
namespace {

struct Join : testing::Test, Secured {
    struct Machine {
        std::string key = make_private_key().value();
        pb::JoinReply joined;
    };

    grpc::Status join(Machine& machine, const ClientSecurity& security,
                      const std::string& name = "rack1") {
        grpc::ClientContext context;
        set_deadline(context);
        pb::JoinRequest request;
        request.set_name(name);
        request.mutable_signing()->set_pem(make_signing_request(machine.key).value());
        return pb::JoinService::NewStub(channel(security))
            ->Join(&context, request, &machine.joined);
    }
    grpc::Status renew(const ClientSecurity& security, const std::string& node,
                       pb::RenewReply* reply = nullptr) {
        grpc::ClientContext context;
        set_deadline(context);
        pb::RenewRequest request;
        request.set_node_id(node);
        request.mutable_signing()->set_pem(
            make_signing_request(make_private_key().value()).value());
        pb::RenewReply unread;
        return pb::JoinService::NewStub(channel(security))
            ->Renew(&context, request, reply == nullptr ? &unread : reply);
    }
    grpc::Status remove(const std::string& node, const ClientSecurity& security) {
        grpc::ClientContext context;
        set_deadline(context);
        pb::RemoveNodeRequest request;
        request.set_node_id(node);
        pb::Node reply;
        return pb::NodeService::NewStub(channel(security))->Remove(&context, request, &reply);
    }
    void revoke(const std::string& token) {
        grpc::ClientContext context;
        pb::RevokeTokenRequest request;
        request.set_id(token);
        pb::JoinToken reply;
        EXPECT_TRUE(pb::TokenService::NewStub(channel(as(Role::admin)))
                        ->Revoke(&context, request, &reply)
                        .ok());
    }
    ClientSecurity of(const Machine& machine) {
        const std::string file = format("machine-{}", ++machines_);
        const std::string certificate = authority.write(file, machine.joined.certificate());
        authority.write(file + ".key", machine.key);
        return with(certificate);
    }
    Machine joined(const std::string& name = "rack1") {
        Machine machine;
        const grpc::Status status = join(machine, with_join_token(make_join_token().token()), name);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return machine;
    }
    // The status, its reason, and the newest audit row with both.
    void expect_refused(const grpc::Status& status, const std::string& reason,
                        const std::string& method, const std::string& who) {
        ASSERT_FALSE(status.ok());
        EXPECT_NE(status.error_message().find(reason), std::string::npos) << status.error_message();
        pb::ListAuditRequest refused;
        refused.set_only_refused(true);
        const auto rows = audit(refused);
        ASSERT_FALSE(rows.empty());
        EXPECT_EQ(rows[0].reason(), status.error_message());
        EXPECT_NE(rows[0].method().find(method), std::string::npos) << rows[0].method();
        EXPECT_NE(rows[0].principal().find(who), std::string::npos) << rows[0].principal();
    }
    void expect_join_refused(const ClientSecurity& security, const std::string& reason,
                             const std::string& who) {
        Machine machine;
        expect_refused(join(machine, security), reason, "JoinService/Join", who);
        EXPECT_EQ(machine.joined.certificate(), "");
    }

private:
    int machines_ = 0;
};

TEST_F(Join, AMachineBecomesANodeWithATokenAndLeavesARow) {
    const auto token = make_join_token();
    Machine machine;
    ASSERT_TRUE(join(machine, with_join_token(token.token())).ok());
    const std::string node = machine.joined.node_id();
    EXPECT_EQ(node.substr(0, 6), "rack1-");
    EXPECT_EQ(node.size(), 14u);
    FakeWorker worker(address(), hello_of(node, 1), of(machine));
    worker.take<HelloReply>();
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1].principal(), "join token " + token.id());
    EXPECT_EQ(rows[1].subject(), node);
    EXPECT_EQ(rows[1].peer().substr(0, 15), "ipv4:127.0.0.1:");
    EXPECT_EQ(rows[1].arguments(), "name: \"rack1\"");
    EXPECT_EQ(rows[2].method(), "/ringmaster.v1.TokenService/Create");
    EXPECT_EQ(rows[2].subject(), token.id());
    for (const auto& row : rows)
        EXPECT_EQ(row.DebugString().find(token.token().substr(4)), std::string::npos);
    FakeWorker other(address(), hello_of("rack1-other", 1), of(machine));
    EXPECT_EQ(other.wait_for_end().error().code, ErrorCode::permission_denied);
}

TEST_F(Join, ATokenIsRefusedOnceItIsUsedUpExpiredRevokedOrUnknown) {
    const auto once = make_join_token();
    Machine first;
    ASSERT_TRUE(join(first, with_join_token(once.token())).ok());
    expect_join_refused(with_join_token(once.token()), "is used up: 1 of 1 uses are taken",
                        "join token " + once.id());
    const auto brief = make_join_token(9, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    expect_join_refused(with_join_token(brief.token()), "expired at", "join token " + brief.id());
    const auto taken = make_join_token(9);
    revoke(taken.id().substr(0, 6));
    expect_join_refused(with_join_token(taken.token()), "was revoked at",
                        "join token " + taken.id());
    expect_join_refused(with_join_token(rm::make_join_token()), "is not known here", "");
}

TEST_F(Join, ARepeatedRequestOfTheSameKeyTakesNoSecondUse) {
    const auto token = make_join_token();
    Machine machine;
    ASSERT_TRUE(join(machine, with_join_token(token.token())).ok());
    const std::string certificate = machine.joined.certificate();
    ASSERT_TRUE(join(machine, with_join_token(token.token())).ok()) << "the answer was lost";
    EXPECT_EQ(machine.joined.certificate(), certificate);
    Machine another;
    EXPECT_FALSE(join(another, with_join_token(token.token())).ok());
}

TEST_F(Join, OtherCredentialsDoNotJoinAndAJoinTokenDoesNothingElse) {
    expect_join_refused(with_token("ann", Role::admin), "takes a join token alone; 'ann' has",
                        "ann");
    expect_join_refused(as(Role::worker), "takes a join token alone; 'worker' has", "worker");
    expect_join_refused(nobody(), "no credential", "");
    const ClientSecurity token = with_join_token(make_join_token().token());
    expect_refused(list(token), "takes no join token", "JobService/List", "join token");
    expect_refused(remove("x", token), "takes no join token", "NodeService/Remove", "join token");
}

TEST_F(Join, ANameThatIsNoneIsRefusedBeforeAnythingIsTaken) {
    const auto token = make_join_token();
    Machine machine;
    for (const std::string name : {"", "*", "a b", "-x", "rack1-*"}) {
        EXPECT_EQ(join(machine, with_join_token(token.token()), name).error_code(),
                  grpc::StatusCode::INVALID_ARGUMENT)
            << name;
    }
    EXPECT_TRUE(join(machine, with_join_token(token.token())).ok());
}

TEST_F(Join, ANodeRenewsItsOwnCertificateAlone) {
    const Machine machine = joined();
    const std::string node = machine.joined.node_id();
    const ClientSecurity own = of(machine);
    pb::RenewReply renewed;
    ASSERT_TRUE(renew(own, node, &renewed).ok());
    EXPECT_EQ(name_of(renewed.certificate()).value(), node);
    EXPECT_NE(serial_of(renewed.certificate()).value(),
              serial_of(machine.joined.certificate()).value());
    expect_refused(renew(own, joined().joined.node_id()), "is not valid for node",
                   "JoinService/Renew", node);
    const std::string by_hand = authority.client("rack1-*", Role::worker);
    expect_refused(renew(with(by_hand), node), "renews only its own", "JoinService/Renew",
                   "rack1-*");
}

TEST_F(Join, ARemovedNodesSessionEndsAndNeitherItNorItsCertificateComesBack) {
    const Machine machine = joined();
    const std::string node = machine.joined.node_id();
    const ClientSecurity own = of(machine);
    FakeWorker worker(address(), hello_of(node, 1), own);
    worker.take<HelloReply>();
    EXPECT_EQ(remove(node, with_token("sam", Role::submitter)).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
    ASSERT_TRUE(remove(node, as(Role::admin)).ok());
    const Status end = worker.wait_for_end();
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find(node + " was removed"), std::string::npos)
        << end.error().message;
    expect_refused(renew(own, node), "is revoked: the node was removed", "JoinService/Renew", "");
    start();  // neither does a new start of the controller forget it, nor the loss of join.db
    EXPECT_EQ(renew(own, node).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    daemon.reset();
    for (const char* file : {"state/join.db", "state/join.db-wal", "state/join.db-shm"})
        std::filesystem::remove(directory.file(file));
    start();
    EXPECT_EQ(renew(own, node).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    FakeWorker again(address(), hello_of(node, 1), with(authority.client("rack1-*", Role::worker)));
    EXPECT_NE(again.wait_for_end().error().message.find("was removed"), std::string::npos);
    const Machine new_one = joined();
    EXPECT_NE(new_one.joined.node_id(), node);
    ASSERT_TRUE(remove(node, as(Role::admin)).ok()) << "a second time";
}

TEST_F(Join, AStolenCertificateIsRefusedWhileItsNodeLivesAndLeavesARow) {
    const Machine machine = joined();
    const std::string node = machine.joined.node_id();
    FakeWorker worker(address(), hello_of(node, 1), of(machine));
    worker.take<HelloReply>();
    FakeWorker thief(address(), hello_of(node, 1), of(machine));
    const Status end = thief.wait_for_end();
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find("has a live session from ipv4:127.0.0.1:"),
              std::string::npos);
    pb::ListAuditRequest refused;
    refused.set_only_refused(true);
    const auto rows = audit(refused);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].principal(), node);
    EXPECT_EQ(rows[0].subject(), node);
    EXPECT_EQ(rows[0].reason(), end.error().message);
    EXPECT_NE(rows[0].credential().find("certificate "), std::string::npos);
}

TEST_F(Join, AWorkerFindsTheAuthorityBehindTheServersCertificateByItsFingerprint) {
    const std::string ca = read_small_file(authority.ca).value();
    const auto token = make_join_token();
    EXPECT_EQ(token.ca_fingerprint(), fingerprint_of(ca).value());
    const HostPort server = parse_host_port(address()).value();
    EXPECT_EQ(token.address(), format("localhost:{}", server.port));
    const auto find = [&](const std::string& fingerprint, const std::string& name) {
        return find_authority(server, {fingerprint, name, today()});
    };
    EXPECT_EQ(find(token.ca_fingerprint(), "controller.lab").value(), ca);
    const auto misnamed = find(token.ca_fingerprint(), "elsewhere.lab");
    ASSERT_FALSE(misnamed);
    EXPECT_NE(misnamed.error().message.find("--san elsewhere.lab"), std::string::npos);
    Authority other(directory, "other");
    const auto wrong = find(fingerprint_of(read_small_file(other.ca).value()).value(), "localhost");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::failed_precondition);
    EXPECT_NE(wrong.error().message.find("none of the 2 certificates"), std::string::npos);
}

TEST_F(Join, WithoutAnAuthorityForNodesNobodyJoinsAndTheReasonSaysWhatToDo) {
    const auto plain =
        Daemon::start({.state_dir = directory.file("plain"),
                       .listen = {"127.0.0.1:0"},
                       .on_fatal = [](const std::string& message) { ADD_FAILURE() << message; }});
    ASSERT_TRUE(plain) << plain.error().message;
    grpc::ClientContext context;
    pb::CreateTokenRequest request;
    request.set_uses(1);
    request.set_valid_seconds(60);
    pb::CreateTokenReply reply;
    const grpc::Status status =
        pb::TokenService::NewStub(make_channel((*plain)->grpc_addresses()[0]).value())
            ->Create(&context, request, &reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_NE(status.error_message().find("--node-authority"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
