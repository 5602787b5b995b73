#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/daemon.h"
#include "ringmaster/v1/admin.grpc.pb.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/join.grpc.pb.h"
#include "ringmaster/v1/node.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/state_dir.h"
#include "tests/controller/world.h"
#include "tests/support/temp_dir.h"

namespace rm::test {

namespace pb = ringmaster::v1;

// Sends raw bytes over TCP and returns the answer up to the close of the other side.
inline std::string plain_exchange(const std::string& address, const std::string& sent) {
    const HostPort at = parse_host_port(address).value();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(at.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RM_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0, "cannot connect");
    RM_CHECK(::write(fd, sent.data(), sent.size()) == static_cast<ssize_t>(sent.size()),
             "short write");
    std::string answer;
    char buffer[512];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
        answer.append(buffer, static_cast<std::size_t>(got));
    ::close(fd);
    return answer;
}

inline WallTime today() {
    return SystemClock().wall();
}
constexpr Seconds kDay{86400};

// Files of an authority and of its certificates, as `ringmaster pki` makes them.
class Authority {
public:
    explicit Authority(const TempDir& directory, const std::string& name = "ca")
        : directory_(directory), pair_(make_authority(name, today(), 10).value()) {
        ca = write(name + ".crt", pair_.certificate);
    }

    // With its key in FILE.key.
    std::string client(const std::string& name, Role role, WallTime now = today(), int days = 1) {
        return issued({.name = name, .role = role, .days = days}, now);
    }
    std::string server() {
        return issued(
            {.name = "controller", .subject_names = {"localhost", "127.0.0.1", "controller.lab"}},
            today());
    }
    // As the controller shows it: with the authority behind it, which workers that join look for.
    KeyPair server_chain() {
        const std::string path = server();
        return {read_small_file(path).value() + pair_.certificate,
                read_small_file(path + ".key").value()};
    }
    KeyPair for_nodes() const { return make_node_authority(pair_, "nodes", today(), 5).value(); }
    std::string write(const std::string& name, const std::string& text) const {
        directory_.write(name, text);
        ::chmod(directory_.file(name).c_str(), 0600);
        return directory_.file(name);
    }

    std::string ca;  // path

private:
    std::string issued(const CertificateOrder& order, WallTime now) {
        const KeyPair made = issue(pair_, order, now).value();
        const std::string file = format("{}-{}.crt", order.name, ++count_);
        write(file + ".key", made.key);
        return write(file, made.certificate);
    }

    const TempDir& directory_;
    const KeyPair pair_;
    int count_ = 0;
};

// A controller with TLS on loopback and a Unix socket, and the credentials it accepts.
class Secured {
public:
    TempDir directory;
    Authority authority{directory};
    std::string deny_list = authority.write("denied", "");
    std::string tokens = authority.write("tokens.yaml", "");
    std::string socket = "unix:" + directory.file("c.sock");
    std::unique_ptr<Daemon> daemon;

    KeyPair for_nodes = authority.for_nodes();

    explicit Secured(MetricsAccess metrics = MetricsAccess::as_a_viewer) { start(metrics); }
    void start(MetricsAccess metrics = MetricsAccess::as_a_viewer) {
        daemon.reset();
        auto started = Daemon::start(
            {.state_dir = directory.file("state"),
             .listen = {"127.0.0.1:0", socket},
             .http = "127.0.0.1:0",
             .tls = authority.server_chain(),
             .credentials = {.client_ca = authority.ca,
                             .deny_list = deny_list,
                             .tokens = tokens,
                             .node_authority = authority.write("nodes.crt", for_nodes.certificate)},
             .join = {.authority = for_nodes},
             .metrics = metrics,
             .version = "0.0.0",
             .on_fatal = [](const std::string& message) { ADD_FAILURE() << message; }});
        RM_CHECK(started.ok(), "{}", started.error().message);
        daemon = *std::move(started);
    }

    const std::string& address() const { return daemon->grpc_addresses()[0]; }

    ClientSecurity nobody() const { return {.ca = authority.ca}; }
    ClientSecurity with(const std::string& certificate) const {
        return {.ca = authority.ca, .certificate = certificate, .key = certificate + ".key"};
    }
    ClientSecurity as(Role role) {
        return with(authority.client(std::string(to_string(role)), role));
    }
    // Writes a token to a separate file, and its hash to the controller's.
    ClientSecurity with_token(const std::string& name, Role role,
                              std::optional<WallTime> expires = std::nullopt) {
        const std::string token = make_token();
        std::string known = read_small_file(tokens).value();
        known += token_line(hash_token(token), {name, role, expires}).value();
        RM_CHECK(write_file_atomically(tokens, known).ok(), "cannot write {}", tokens);
        return {.ca = authority.ca, .token_file = authority.write(name + ".token", token + "\n")};
    }

    pb::CreateTokenReply make_join_token(int uses = 1, double seconds = 60) const {
        grpc::ClientContext context;
        pb::CreateTokenRequest request;
        request.set_uses(uses);
        request.set_valid_seconds(seconds);
        pb::CreateTokenReply reply;
        const grpc::Status status = pb::TokenService::NewStub(make_channel(socket).value())
                                        ->Create(&context, request, &reply);
        RM_CHECK(status.ok(), "{}", status.error_message());
        return reply;
    }
    ClientSecurity with_join_token(const std::string& token) const {
        return {.ca = authority.ca, .token_file = authority.write("join.token", token)};
    }

    std::shared_ptr<grpc::Channel> channel(const ClientSecurity& security) const {
        return make_channel(address(), security).value();
    }
    static void set_deadline(grpc::ClientContext& context) {
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    }

    grpc::Status list(const ClientSecurity& security) const {
        grpc::ClientContext context;
        set_deadline(context);
        pb::ListJobsReply reply;
        return pb::JobService::NewStub(channel(security))->List(&context, {}, &reply);
    }
    grpc::Status submit(const ClientSecurity& security, std::string* id = nullptr) {
        grpc::ClientContext context;
        set_deadline(context);
        pb::SubmitRequest request;
        request.set_request_id(format("request-{}", ++requests_));
        *request.mutable_spec() = to_proto(small_spec());
        pb::SubmitReply reply;
        const grpc::Status status =
            pb::JobService::NewStub(channel(security))->Submit(&context, request, &reply);
        if (id != nullptr) *id = reply.job_id();
        return status;
    }
    grpc::Status cancel(const ClientSecurity& security, const std::string& id) const {
        grpc::ClientContext context;
        set_deadline(context);
        pb::CancelJobRequest request;
        request.set_job_id(id);
        pb::Job job;
        return pb::JobService::NewStub(channel(security))->Cancel(&context, request, &job);
    }

    // As the local administrator sees it, newest first.
    std::vector<pb::AuditRow> audit(const pb::ListAuditRequest& request = {}) const {
        grpc::ClientContext context;
        pb::ListAuditReply reply;
        const grpc::Status status = pb::AdminService::NewStub(make_channel(socket).value())
                                        ->Audit(&context, request, &reply);
        RM_CHECK(status.ok(), "{}", status.error_message());
        return {reply.rows().begin(), reply.rows().end()};
    }

private:
    int requests_ = 0;
};

}  // namespace rm::test
