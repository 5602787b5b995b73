#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/config_file.h"
#include "ringmaster/v1/admin.pb.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert.h"

namespace rm {

enum class CancelMode { checkpoint_first, now };
// gone: the machine no longer exists.
enum class DrainMode { stop_with_checkpoint, keep_running, gone };

struct HistoryFilter {
    pb::JobState state = pb::JOB_STATE_UNSPECIFIED;  // unspecified: any
    std::string name;                                // empty: any
    std::string user;
    std::string model;              // preset, or where it is from: the whole path or its last part
    std::optional<WallTime> since;  // submitted then or later
};

struct Fleet {
    std::vector<pb::Node> nodes;
    std::int64_t telemetry_dropped = 0;  // pieces, since the controller started
};

struct AuditQuery {
    bool only_refused = false;
    std::optional<WallTime> since;
};

// The controller as the command line sees it. Every call is idempotent (Submit through its request
// id), so UNAVAILABLE is tried three times with growing pauses, each told to `note`, before it is
// an error. Lists are read to their last page. Calls that do not stream give up after 20 s.
class Client {
public:
    using Note = std::function<void(std::string_view)>;
    // INVALID_ARGUMENT for an address beyond loopback without a CA, or credentials that cannot be
    // read. Nothing is sent before the first call.
    static Result<Client> open(const Target& target, Note note);
    ~Client();
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;

    // The id of the new job; what the controller warns of is told to `note`.
    Result<std::string> submit(const pb::JobSpec& spec, const std::string& request_id);
    Result<pb::Job> get(const std::string& job_id);
    Result<pb::Job> cancel(const std::string& job_id, CancelMode mode);
    // The id of the new job.
    Result<std::string> continue_job(const std::string& job_id, const std::string& request_id);
    Result<pb::ExplainJobReply> explain(const std::string& job_id);
    Result<std::vector<pb::Job>> list_live();
    Result<std::vector<pb::Job>> list_all();
    // Of one job, or with an empty id of all that live.
    Result<pb::TopReply> top(const std::string& job_id);
    // The newest jobs of this name, newest first: one page.
    Result<std::vector<pb::Job>> newest_named(const std::string& name);
    Result<std::vector<pb::Job>> history(const HistoryFilter& filter);
    Result<Fleet> fleet();
    Result<std::vector<pb::AuditRow>> audit(const AuditQuery& query);
    Result<pb::Node> drain(const std::string& node_id, const std::string& reason, DrainMode mode);
    Result<pb::Node> resume(const std::string& node_id);

    // All of one survey: begins again when another ends meanwhile.
    Result<pb::LinksReply> links();
    Result<pb::SurveyState> survey_state();
    Result<pb::LinkHistoryReply> link_history(const std::string& from, const std::string& to,
                                              int limit);
    // Attempt 0: the newest.
    Result<pb::PlacementReply> placement(const std::string& job_id, std::int64_t attempt);
    Result<pb::SurveyReply> survey();

    // Streams until the server ends it or `stop` is requested (then CANCELLED); not retried: the
    // caller knows where to go on.
    Status watch(const std::string& job_id, std::stop_token stop,
                 const std::function<void(const pb::JobUpdate&)>& on_update);
    // A reply every `interval`; ends when the one job it is about has ended.
    Status watch_top(const std::string& job_id, Seconds interval, std::stop_token stop,
                     const std::function<void(const pb::TopReply&)>& on_reply);
    Status logs(const pb::LogsRequest& request, std::stop_token stop,
                const std::function<void(const pb::LogPiece&)>& on_piece);

    // A backup of the controller's database, in pieces.
    Status backup(std::stop_token stop, const std::function<void(const std::string&)>& on_piece);

private:
    struct Impl;
    explicit Client(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

// 128 random bits: what makes sending a Submit again safe.
std::string random_request_id();

}  // namespace rm
