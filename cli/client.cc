#include "cli/client.h"

#include <chrono>
#include <random>
#include <thread>

#include "ringmaster/v1/admin.grpc.pb.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/node.grpc.pb.h"
#include "ringmaster/v1/topology.grpc.pb.h"
#include "service/grpc_util.h"
#include "service/security/tls_probe.h"

namespace rm {
namespace {

constexpr auto kCallLimit = std::chrono::seconds(20);
constexpr Seconds kStreamPause{1};  // Ctrl-C waits for its end
constexpr int kMostBegins = 3;      // of a list whose pages would be of two surveys
constexpr Seconds kPauses[] = {Seconds{0.5}, Seconds{1.5}};

// gRPC's account of a failed connection ends in the system's own words, after a colon.
std::string short_reason(const std::string& words) {
    std::string text = words.substr(0, words.find_last_not_of(" .;\n\r") + 1);
    for (const std::string_view known :
         {"Connection refused", "No such file or directory", "Connection reset by peer",
          "No route to host", "Network is unreachable", "Permission denied", "Socket closed",
          "Connection timed out", "DNS resolution failed"}) {
        if (text.find(known) == std::string::npos) continue;
        std::string lower(known);
        if (!known.starts_with("DNS")) lower[0] = static_cast<char>(std::tolower(lower[0]));
        return lower;
    }
    return text;
}

bool is_local(const std::string& address) {
    return address.starts_with("unix:") || address.starts_with("127.") ||
           address.starts_with("localhost") || address.starts_with("[::1]");
}

}  // namespace

struct Client::Impl {
    Target target;
    Note note;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<pb::JobService::Stub> jobs;
    std::unique_ptr<pb::NodeService::Stub> nodes;
    std::unique_ptr<pb::AdminService::Stub> admin;
    std::unique_ptr<pb::TopologyService::Stub> topology;

    Error error_of(const grpc::Status& status) const {
        Error error = from_grpc(status);
        if (error.code == ErrorCode::unavailable) {
            // gRPC says of every failed handshake that the socket was closed.
            if (auto mismatch = why_no_connection(target.address, target.security)) {
                return *std::move(mismatch);
            }
            error.message = format("cannot reach the controller at {} ({})", target.address,
                                   short_reason(error.message));
        } else if (error.code == ErrorCode::deadline_exceeded) {
            error.message = format("the controller at {} did not answer within {} s",
                                   target.address, kCallLimit.count());
        } else if (error.code == ErrorCode::unauthenticated ||
                   error.code == ErrorCode::permission_denied) {
            error.message = format("{}: {}", to_string(error.code), error.message);
        }
        return error;
    }

    // `call(context, reply)` once, and again after each pause while the answer is UNAVAILABLE.
    template <typename Reply, typename Call>
    Result<Reply> call(const Call& call) const {
        for (std::size_t attempt = 0;; ++attempt) {
            grpc::ClientContext context;
            context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
            Reply reply;
            const grpc::Status status = call(context, reply);
            if (status.ok()) return reply;
            const Error error = error_of(status);
            if (error.code != ErrorCode::unavailable) return error;
            if (attempt == std::size(kPauses)) {
                return make_error(error.code, "{} (3 tries){}", error.message,
                                  is_local(target.address)
                                      ? "; `ringmaster up` starts a local cluster"
                                      : "; is it running, and is the port right?");
            }
            note(format("{}; retrying...", error.message));
            const auto until = std::chrono::steady_clock::now() +
                               std::chrono::duration<double>(kPauses[attempt].value);
            connect_again(*channel, kPauses[attempt]);
            std::this_thread::sleep_until(until);
        }
    }

    // All pages: `take(reply)` keeps what it wants of one and says where the next begins.
    template <typename Reply, typename Request, typename Call, typename Take>
    Status read_pages(Request request, const Call& send, const Take& take) const {
        for (;;) {
            RM_TRY(const Reply reply, call<Reply>([&](grpc::ClientContext& context, Reply& out) {
                       return send(context, request, out);
                   }));
            take(reply);
            if (reply.next_page_token().empty()) return {};
            request.set_page_token(reply.next_page_token());
        }
    }

    template <typename Piece, typename OnPiece>
    Status drain(grpc::ClientContext& context, grpc::ClientReader<Piece>& reader,
                 const std::stop_token& stop, const OnPiece& on_piece) const {
        const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
        Piece piece;
        while (reader.Read(&piece))
            on_piece(piece);
        const grpc::Status status = reader.Finish();
        if (status.ok()) return {};
        return error_of(status);
    }

    Result<std::vector<pb::Job>> list(bool include_ended) const {
        pb::ListJobsRequest request;
        request.set_include_ended(include_ended);
        std::vector<pb::Job> found;
        RM_RETURN_IF_ERROR(read_pages<pb::ListJobsReply>(
            request,
            [this](grpc::ClientContext& context, const auto& page, pb::ListJobsReply& reply) {
                return jobs->List(&context, page, &reply);
            },
            [&found](const pb::ListJobsReply& reply) {
                found.insert(found.end(), reply.jobs().begin(), reply.jobs().end());
            }));
        return found;
    }
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::open(const Target& target, Note note) {
    auto impl = std::make_unique<Impl>();
    impl->target = target;
    impl->note = std::move(note);
    RM_TRY(impl->channel, make_channel(target.address, target.security));
    impl->jobs = pb::JobService::NewStub(impl->channel);
    impl->nodes = pb::NodeService::NewStub(impl->channel);
    impl->admin = pb::AdminService::NewStub(impl->channel);
    impl->topology = pb::TopologyService::NewStub(impl->channel);
    return Client(std::move(impl));
}

Result<std::string> Client::submit(const pb::JobSpec& spec, const std::string& request_id) {
    pb::SubmitRequest request;
    request.set_request_id(request_id);
    *request.mutable_spec() = spec;
    RM_TRY(const pb::SubmitReply reply,
           impl_->call<pb::SubmitReply>([&](grpc::ClientContext& context, pb::SubmitReply& out) {
               return impl_->jobs->Submit(&context, request, &out);
           }));
    for (const std::string& warning : reply.warnings())
        impl_->note("warning: " + warning);
    return reply.job_id();
}

Result<pb::Job> Client::get(const std::string& job_id) {
    pb::GetJobRequest request;
    request.set_job_id(job_id);
    return impl_->call<pb::Job>([&](grpc::ClientContext& context, pb::Job& out) {
        return impl_->jobs->Get(&context, request, &out);
    });
}

Result<pb::Job> Client::cancel(const std::string& job_id, CancelMode mode) {
    pb::CancelJobRequest request;
    request.set_job_id(job_id);
    request.set_now(mode == CancelMode::now);
    return impl_->call<pb::Job>([&](grpc::ClientContext& context, pb::Job& out) {
        return impl_->jobs->Cancel(&context, request, &out);
    });
}

Result<std::string> Client::continue_job(const std::string& job_id, const std::string& request_id) {
    pb::ContinueJobRequest request;
    request.set_job_id(job_id);
    request.set_request_id(request_id);
    RM_TRY(const pb::SubmitReply reply,
           impl_->call<pb::SubmitReply>([&](grpc::ClientContext& context, pb::SubmitReply& out) {
               return impl_->jobs->Continue(&context, request, &out);
           }));
    return reply.job_id();
}

Result<pb::ExplainJobReply> Client::explain(const std::string& job_id) {
    pb::ExplainJobRequest request;
    request.set_job_id(job_id);
    return impl_->call<pb::ExplainJobReply>(
        [&](grpc::ClientContext& context, pb::ExplainJobReply& out) {
            return impl_->jobs->Explain(&context, request, &out);
        });
}

Result<pb::TopReply> Client::top(const std::string& job_id) {
    pb::TopRequest request;
    request.set_job_id(job_id);
    return impl_->call<pb::TopReply>([&](grpc::ClientContext& context, pb::TopReply& out) {
        const auto reader = impl_->jobs->Top(&context, request);
        pb::TopReply rest;
        reader->Read(&out);
        while (reader->Read(&rest)) {
        }
        return reader->Finish();
    });
}

Status Client::watch_top(const std::string& job_id, Seconds interval, std::stop_token stop,
                         const std::function<void(const pb::TopReply&)>& on_reply) {
    pb::TopRequest request;
    request.set_job_id(job_id);
    request.set_interval_seconds(interval.value);
    grpc::ClientContext context;
    const auto reader = impl_->jobs->Top(&context, request);
    return impl_->drain(context, *reader, stop, on_reply);
}

Result<pb::Node> Client::drain(const std::string& node_id, const std::string& reason,
                               DrainMode mode) {
    pb::DrainNodeRequest request;
    request.set_node_id(node_id);
    request.set_reason(reason);
    request.set_keep_running(mode == DrainMode::keep_running);
    request.set_gone(mode == DrainMode::gone);
    return impl_->call<pb::Node>([&](grpc::ClientContext& context, pb::Node& out) {
        return impl_->nodes->Drain(&context, request, &out);
    });
}

Result<pb::Node> Client::resume(const std::string& node_id) {
    pb::ResumeNodeRequest request;
    request.set_node_id(node_id);
    return impl_->call<pb::Node>([&](grpc::ClientContext& context, pb::Node& out) {
        return impl_->nodes->Resume(&context, request, &out);
    });
}

Result<std::vector<pb::Job>> Client::list_live() {
    return impl_->list(false);
}

Result<std::vector<pb::Job>> Client::list_all() {
    return impl_->list(true);
}

Result<std::vector<pb::Job>> Client::history(const HistoryFilter& filter) {
    pb::HistoryRequest request;
    request.set_state(filter.state);
    request.set_name(filter.name);
    request.set_owner(filter.user);
    request.set_model(filter.model);
    if (filter.since) *request.mutable_since() = to_proto(*filter.since);
    std::vector<pb::Job> found;
    RM_RETURN_IF_ERROR(impl_->read_pages<pb::HistoryReply>(
        request,
        [this](grpc::ClientContext& context, const auto& page, pb::HistoryReply& reply) {
            return impl_->jobs->History(&context, page, &reply);
        },
        [&found](const pb::HistoryReply& reply) {
            found.insert(found.end(), reply.jobs().begin(), reply.jobs().end());
        }));
    return found;
}

Result<std::vector<pb::Job>> Client::newest_named(const std::string& name) {
    pb::HistoryRequest request;
    request.set_name(name);
    RM_TRY(const pb::HistoryReply reply,
           impl_->call<pb::HistoryReply>([&](grpc::ClientContext& context, pb::HistoryReply& out) {
               return impl_->jobs->History(&context, request, &out);
           }));
    return std::vector<pb::Job>(reply.jobs().begin(), reply.jobs().end());
}

Result<Fleet> Client::fleet() {
    Fleet fleet;
    RM_RETURN_IF_ERROR(impl_->read_pages<pb::ListNodesReply>(
        pb::ListNodesRequest(),
        [this](grpc::ClientContext& context, const auto& page, pb::ListNodesReply& reply) {
            return impl_->nodes->List(&context, page, &reply);
        },
        [&fleet](const pb::ListNodesReply& reply) {
            fleet.nodes.insert(fleet.nodes.end(), reply.nodes().begin(), reply.nodes().end());
            fleet.telemetry_dropped = reply.telemetry_dropped();
        }));
    return fleet;
}

Result<pb::LinksReply> Client::links() {
    for (int again = 0;; ++again) {
        pb::LinksReply all;
        const Status read = impl_->read_pages<pb::LinksReply>(
            pb::LinksRequest(),
            [this](grpc::ClientContext& context, const auto& page, pb::LinksReply& reply) {
                return impl_->topology->Links(&context, page, &reply);
            },
            [&all](const pb::LinksReply& reply) { all.MergeFrom(reply); });
        all.clear_next_page_token();
        if (read) return all;
        if (read.error().code != ErrorCode::aborted || again == kMostBegins) return read.error();
    }
}

Result<pb::SurveyState> Client::survey_state() {
    pb::LinksRequest request;
    request.set_page_size(1);
    RM_TRY(const pb::LinksReply reply,
           impl_->call<pb::LinksReply>([&](grpc::ClientContext& context, pb::LinksReply& out) {
               return impl_->topology->Links(&context, request, &out);
           }));
    return reply.survey();
}

Result<pb::LinkHistoryReply> Client::link_history(const std::string& from, const std::string& to,
                                                  int limit) {
    pb::LinkHistoryRequest request;
    request.set_from(from);
    request.set_to(to);
    request.set_limit(limit);
    return impl_->call<pb::LinkHistoryReply>(
        [&](grpc::ClientContext& context, pb::LinkHistoryReply& reply) {
            return impl_->topology->LinkHistory(&context, request, &reply);
        });
}

Result<pb::PlacementReply> Client::placement(const std::string& job_id, std::int64_t attempt) {
    pb::PlacementRequest request;
    request.set_job_id(job_id);
    request.set_attempt(attempt);
    return impl_->call<pb::PlacementReply>(
        [&](grpc::ClientContext& context, pb::PlacementReply& reply) {
            return impl_->topology->Placement(&context, request, &reply);
        });
}

Result<pb::SurveyReply> Client::survey() {
    return impl_->call<pb::SurveyReply>(
        [this](grpc::ClientContext& context, pb::SurveyReply& reply) {
            return impl_->topology->Survey(&context, {}, &reply);
        });
}

Result<std::vector<pb::AuditRow>> Client::audit(const AuditQuery& query) {
    pb::ListAuditRequest request;
    request.set_only_refused(query.only_refused);
    if (query.since) *request.mutable_since() = to_proto(*query.since);
    std::vector<pb::AuditRow> found;
    RM_RETURN_IF_ERROR(impl_->read_pages<pb::ListAuditReply>(
        request,
        [this](grpc::ClientContext& context, const auto& page, pb::ListAuditReply& reply) {
            return impl_->admin->Audit(&context, page, &reply);
        },
        [&found](const pb::ListAuditReply& reply) {
            found.insert(found.end(), reply.rows().begin(), reply.rows().end());
        }));
    return found;
}

Status Client::watch(const std::string& job_id, std::stop_token stop,
                     const std::function<void(const pb::JobUpdate&)>& on_update) {
    pb::WatchRequest request;
    request.set_job_id(job_id);
    connect_again(*impl_->channel, kStreamPause);
    grpc::ClientContext context;
    const auto reader = impl_->jobs->Watch(&context, request);
    return impl_->drain(context, *reader, stop, on_update);
}

Status Client::logs(const pb::LogsRequest& request, std::stop_token stop,
                    const std::function<void(const pb::LogPiece&)>& on_piece) {
    connect_again(*impl_->channel, kStreamPause);
    grpc::ClientContext context;
    const auto reader = impl_->jobs->Logs(&context, request);
    return impl_->drain(context, *reader, stop, on_piece);
}

Status Client::backup(std::stop_token stop,
                      const std::function<void(const std::string&)>& on_piece) {
    grpc::ClientContext context;
    const auto reader = impl_->admin->Backup(&context, pb::BackupRequest());
    return impl_->drain(context, *reader, stop,
                        [&](const pb::BackupPiece& piece) { on_piece(piece.data()); });
}

std::string random_request_id() {
    std::random_device device;
    std::string id;
    for (int word = 0; word < 4; ++word)
        id += format("{:08x}", device());
    return id;
}

}  // namespace rm
