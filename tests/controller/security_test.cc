#include <fstream>

#include "tests/controller/fake_worker.h"
#include "tests/controller/secured.h"

// Which callers a controller admits, over real TLS.
namespace rm::test {
namespace {

struct Security : testing::Test, Secured {
    // The status, the reason, and one audit row with both.
    void expect_refused(const grpc::Status& status, grpc::StatusCode code,
                        const std::string& reason) {
        EXPECT_EQ(status.error_code(), code) << status.error_message();
        EXPECT_NE(status.error_message().find(reason), std::string::npos) << status.error_message();
        pb::ListAuditRequest refused;
        refused.set_only_refused(true);
        const auto rows = audit(refused);
        ASSERT_EQ(rows.size(), 1u);
        EXPECT_EQ(rows[0].code(), to_string(static_cast<ErrorCode>(code)));
        EXPECT_EQ(rows[0].reason(), status.error_message());
        EXPECT_EQ(rows[0].count(), 1);
        row = rows[0];
    }
    void expect_unauthenticated(const ClientSecurity& security, const std::string& reason) {
        expect_refused(list(security), grpc::StatusCode::UNAUTHENTICATED, reason);
        EXPECT_EQ(row.principal(), "");
        EXPECT_EQ(row.method(), "/ringmaster.v1.JobService/List");
        EXPECT_EQ(row.peer(), "at 127.0.0.1:0") << "the listener, as it was given";
    }
    pb::AuditRow row;
};

// ---- credentials

TEST_F(Security, NoCredentialIsRefused) {
    expect_unauthenticated(nobody(), "no credential");
}

TEST_F(Security, ACertificateOfAnotherAuthorityIsRefused) {
    Authority other(directory, "other");
    expect_unauthenticated(with(other.client("mallory", Role::admin)),
                           "not one of this controller's authority");
}

TEST_F(Security, AnExpiredCertificateIsRefusedByName) {
    const WallTime then = today() + Seconds{-3 * kDay.value};
    expect_unauthenticated(with(authority.client("late", Role::admin, then)),
                           "the certificate of 'late' expired at ");
}

TEST_F(Security, ACertificateOfTheFutureIsRefused) {
    expect_unauthenticated(with(authority.client("early", Role::admin, today() + kDay)),
                           "the certificate of 'early' is valid from ");
}

TEST_F(Security, ARevokedCertificateIsRefusedFromTheNextCallOn) {
    const std::string certificate = authority.client("gone", Role::viewer);
    EXPECT_TRUE(list(with(certificate)).ok());
    const std::string serial = serial_of(read_small_file(certificate).value()).value();
    std::ofstream(deny_list) << "# gone\n" << serial << "\n";
    expect_unauthenticated(with(certificate), "the certificate of 'gone' (" + serial);
    EXPECT_TRUE(list(as(Role::viewer)).ok()) << "others are not touched";
}

TEST_F(Security, ABrokenDenyListLetsNoCertificateIn) {
    std::ofstream(deny_list) << "not a serial\n";
    expect_unauthenticated(as(Role::admin), "the controller cannot judge it: ");
}

TEST_F(Security, AServersCertificateIsNoClients) {
    expect_unauthenticated(with(authority.server()), "not a client's");
}

TEST_F(Security, AWrongTokenIsRefusedAndNotRepeated) {
    const std::string token = make_token();
    const ClientSecurity wrong{.ca = authority.ca, .token_file = authority.write("wrong", token)};
    expect_unauthenticated(wrong, "the token is not known");
    EXPECT_EQ(row.DebugString().find(token.substr(3)), std::string::npos);
}

TEST_F(Security, AnExpiredTokenIsRefusedByName) {
    expect_unauthenticated(with_token("old", Role::admin, today() + Seconds{-1}),
                           "the token of 'old' expired at ");
}

TEST_F(Security, ATokenIsKnownFromTheMomentItsHashIsInTheFile) {
    const ClientSecurity security = with_token("alice", Role::viewer);
    EXPECT_TRUE(list(security).ok());
    std::ofstream(tokens) << "";
    expect_unauthenticated(security, "the token is not known");
}

TEST_F(Security, ATokenDecidesWhereThereIsACertificateToo) {
    ClientSecurity both = as(Role::admin);
    both.token_file = with_token("alice", Role::viewer).token_file;
    EXPECT_EQ(submit(both).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// ---- roles

TEST_F(Security, AViewerReadsAndSubmitsNothing) {
    EXPECT_TRUE(list(as(Role::viewer)).ok());
    expect_refused(submit(as(Role::viewer)), grpc::StatusCode::PERMISSION_DENIED,
                   "JobService/Submit needs the role submitter; 'viewer' has the role viewer");
    EXPECT_EQ(row.principal(), "viewer");
    EXPECT_NE(row.credential().find("certificate "), std::string::npos);
}

TEST_F(Security, ASubmittersJobsAreTheirsAndEveryChangeLeavesARow) {
    const ClientSecurity alice = with_token("alice", Role::submitter);
    std::string id;
    ASSERT_TRUE(submit(alice, &id).ok());
    expect_refused(cancel(with_token("bob", Role::submitter), id),
                   grpc::StatusCode::PERMISSION_DENIED, "job " + id + " is of 'alice'; 'bob' may");
}

TEST_F(Security, AllowedChangesLeaveARowWithWhoAndWhereFromAndWhat) {
    const ClientSecurity alice = with_token("alice", Role::submitter);
    std::string id;
    ASSERT_TRUE(submit(alice, &id).ok());
    ASSERT_TRUE(cancel(as(Role::admin), id).ok());
    ASSERT_TRUE(list(alice).ok());
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 2u) << "reading leaves none";
    EXPECT_EQ(rows[0].arguments(), "") << "only the job";
    EXPECT_EQ(rows[1].principal(), "alice");
    EXPECT_EQ(rows[1].credential(), "token");
    EXPECT_EQ(rows[1].method(), "/ringmaster.v1.JobService/Submit");
    EXPECT_EQ(rows[1].subject(), id);
    EXPECT_EQ(rows[1].code(), "ok");
    EXPECT_EQ(rows[1].peer().substr(0, 15), "ipv4:127.0.0.1:");
    EXPECT_EQ(rows[0].principal(), "admin");
    EXPECT_EQ(rows[0].subject(), id);
}

TEST_F(Security, ARowSaysWhatElseWasAskedFor) {
    std::string id;
    ASSERT_TRUE(submit(as(Role::admin), &id).ok());
    const auto stub = pb::JobService::NewStub(make_channel(address(), as(Role::admin)).value());
    grpc::ClientContext context;
    pb::CancelJobRequest request;
    request.set_job_id(id);
    request.set_now(true);
    pb::Job job;
    ASSERT_TRUE(stub->Cancel(&context, request, &job).ok());
    EXPECT_EQ(audit().at(0).arguments(), "now: true");
}

TEST_F(Security, TheLocalAdministratorNeedsNoCredentialOnAUnixSocket) {
    grpc::ClientContext context;
    pb::ListJobsReply reply;
    EXPECT_TRUE(
        pb::JobService::NewStub(make_channel(socket).value())->List(&context, {}, &reply).ok());
}

TEST_F(Security, RefusalsThatRepeatAreCountedInOneRow) {
    for (int i = 0; i < 50; ++i)
        EXPECT_FALSE(list(nobody()).ok());
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].count(), 50);
}

// ---- workers

TEST_F(Security, AWorkersCertificateSpeaksForItsNodeAlone) {
    const ClientSecurity worker = with(authority.client("rack1-*", Role::worker));
    FakeWorker own(address(), hello_of("rack1-7", 1), worker);
    own.take<HelloReply>();
    FakeWorker foreign(address(), hello_of("rack2-1", 1), worker);
    const Status end = foreign.wait_for_end();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::permission_denied);
    EXPECT_NE(end.error().message.find("is not valid for node 'rack2-1'"), std::string::npos);
    expect_refused(list(worker), grpc::StatusCode::PERMISSION_DENIED, "has the role worker");
}

TEST_F(Security, AWorkersSessionEndsWhenItsCertificateIsRevoked) {
    const std::string certificate = authority.client("n1", Role::worker);
    FakeWorker worker(address(), hello_of("n1", 1), with(certificate));
    worker.take<HelloReply>();
    std::ofstream(deny_list) << serial_of(read_small_file(certificate).value()).value() << "\n";
    worker.say(CommandRefused{{1}, "anything"});
    const Status end = worker.wait_for_end();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::unauthenticated) << end.error().message;
}

// ---- without TLS

TEST_F(Security, PlainLoopbackDemandsATokenOnceThereAreTokens) {
    const auto plain =
        Daemon::start({.state_dir = directory.file("plain"),
                       .listen = {"127.0.0.1:0"},
                       .credentials = {.tokens = tokens},
                       .on_fatal = [](const std::string& message) { ADD_FAILURE() << message; }});
    ASSERT_TRUE(plain) << plain.error().message;
    const auto list_with = [&](const ClientSecurity& security) {
        grpc::ClientContext context;
        set_deadline(context);
        pb::ListJobsReply reply;
        const auto channel = make_channel((*plain)->grpc_addresses()[0], security).value();
        return pb::JobService::NewStub(channel)->List(&context, {}, &reply);
    };
    EXPECT_EQ(list_with({}).error_message(),
              "no token: this controller requires one on loopback; give a token file");
    ClientSecurity alice = with_token("alice", Role::viewer);
    alice.ca.clear();
    EXPECT_TRUE(list_with(alice).ok());
}

TEST_F(Security, WithoutTlsNothingIsServedBeyondThisMachine) {
    const auto beyond = Daemon::start({.state_dir = directory.file("plain"),
                                       .listen = {"0.0.0.0:0"},
                                       .credentials = {.tokens = tokens}});
    ASSERT_FALSE(beyond);
    EXPECT_NE(beyond.error().message.find("TLS is required"), std::string::npos);
}

// ---- the wire

TEST_F(Security, PlainTextOnATlsPortIsClosedAndNothingIsServed) {
    const std::string answer = plain_exchange(address(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    EXPECT_LE(answer.size(), 7u) << "a TLS alert at most";
    EXPECT_EQ(list({}).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_TRUE(audit().empty()) << "no call has existed";
}

TEST_F(Security, AServerThatIsNotTheOneNamedGetsNoCall) {
    ClientSecurity security = as(Role::admin);
    security.server_name = "elsewhere.example";
    EXPECT_EQ(list(security).error_code(), grpc::StatusCode::UNAVAILABLE);
    Authority other(directory, "other");
    ClientSecurity deceived = as(Role::admin);
    deceived.ca = other.ca;
    EXPECT_EQ(list(deceived).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_TRUE(audit().empty());
}

}  // namespace
}  // namespace rm::test
