#include <thread>

#include "cli/client/calls.h"
#include "cli/client/follow.h"
#include "cli/client/signals.h"
#include "cli/screen/log_printer.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {
namespace {

struct LogsOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
    bool follow = add("-f,--follow", follow, "Follow until the job ends");
    int rank = add("--rank", rank, "Which rank [0]", number_from(0));
    bool all_ranks = add("--all-ranks", all_ranks, "Every rank, each line with its rank",
                         {.excludes = "--rank"});
    // The epoch of the attempt; 0: the newest.
    std::int64_t attempt = add("--attempt", attempt, "Which attempt [the newest]", number_from(1));
    std::int64_t tail = add("--tail", tail, "Only the last N lines", number_from(1));
    std::string since =
        add("--since", since, "Only what was printed since: 30m, 2h, 3d, or a date (UTC)",
            {.type = "TIME"});
    bool timestamps = add("--timestamps", timestamps,
                          "Begin each line with the time at which it reached the controller (UTC)");
    OutputFormat output = add_output(output, "table|json");
};

constexpr Seconds kPause{1};
constexpr int kTries = 3;
constexpr int kMostFollowed = 64;  // a stream and a thread each

// Resumes after the last byte received when the connection is lost: three times, with --follow
// without limit.
Status print_log(pb::LogsRequest request, Client& client, Console& console, LogPrinter& printer) {
    for (int failures = 0;;) {
        client.connect_again();
        const Status status =
            client.stream(&pb::JobService::Stub::Logs, request, {}, [&](const pb::LogPiece& piece) {
                failures = 0;
                if (piece.dropped() > request.offset() && request.tail_lines() == 0)
                    console.note(
                        format("(the log cap removed the first {} bytes)", piece.dropped()));
                printer.add(piece);
                request.set_offset(piece.offset() + static_cast<std::int64_t>(piece.data().size()));
                request.clear_tail_lines();  // it only chose where to begin
                request.clear_since();
            });
        if (status || status.error().code != ErrorCode::unavailable) return status;
        if (++failures >= kTries && !request.follow()) return status;
        if (failures == 1) console.note(status.error().message + "; retrying");
        sleep_for(kPause, {});
    }
}

int count_ranks(const pb::Job& job, std::int64_t epoch) {
    for (const pb::Attempt& attempt : job.attempts()) {
        if (attempt.epoch() == epoch) return attempt.placement_size();
    }
    return num_devices(job);
}

std::string prefix_of(int rank, int num_ranks) {
    const std::size_t width = std::to_string(num_ranks - 1).size();
    const std::string number = std::to_string(rank);
    return "rank " + std::string(width - number.size(), ' ') + number + " | ";
}

LogStamp stamp_of(const LogsOptions& options) {
    if (options.output == OutputFormat::json) return LogStamp::json;
    return options.timestamps ? LogStamp::time : LogStamp::none;
}

// One rank after the other, or with --follow all at once.
Status print_all_ranks(const LogsOptions& options, const pb::LogsRequest& request, Client& client,
                       Console& console, LogStamp stamp) {
    RM_TRY(const pb::Job job, get_job(client, request.job_id()));
    const int num_ranks = std::max(1, count_ranks(job, options.attempt));
    if (options.follow && num_ranks > kMostFollowed) {
        return invalid_argument("{} ranks are too many to follow at once (at most {}); use --rank",
                                num_ranks, kMostFollowed);
    }
    std::mutex lock;
    std::vector<Status> ended(usize(num_ranks));
    const auto print_one = [&](int rank) {
        pb::LogsRequest of_rank = request;
        of_rank.set_rank(rank);
        const std::string prefix =
            stamp == LogStamp::json ? std::to_string(rank) : prefix_of(rank, num_ranks);
        LogPrinter printer(console.out, lock, prefix, stamp);
        ended[usize(rank)] = print_log(of_rank, client, console, printer);
    };
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < num_ranks; ++rank) {
            if (options.follow) {
                threads.emplace_back(print_one, rank);
            } else {
                print_one(rank);
            }
        }
    }
    for (const Status& status : ended)
        RM_RETURN_IF_ERROR(status);
    return {};
}

Result<ExitCode> run_logs(const LogsOptions& options, VerbContext& context) {
    pb::LogsRequest request;
    if (!options.since.empty()) {
        const auto since = parse_since(options.since, context.clock.wall());
        if (!since) {
            return complain(context.console, invalid_argument("--since: {}", since.error().message),
                            ExitCode::usage);
        }
        *request.mutable_since() = to_proto(*since);
    }
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    request.set_job_id(id);
    request.set_epoch(options.attempt);
    request.set_rank(options.rank);
    request.set_follow(options.follow);
    request.set_tail_lines(options.tail);
    const LogStamp stamp = stamp_of(options);
    if (options.all_ranks) {
        RM_RETURN_IF_ERROR(print_all_ranks(options, request, client, context.console, stamp));
        return ExitCode::ok;
    }
    std::mutex lock;
    const std::string prefix = stamp == LogStamp::json ? std::to_string(options.rank) : "";
    LogPrinter printer(context.console.out, lock, prefix, stamp);
    RM_RETURN_IF_ERROR(print_log(request, client, context.console, printer));
    return ExitCode::ok;
}

}  // namespace

Verb logs_verb() {
    return verb_of(
        "logs", "Print the log of one rank of a job, or of all", run_logs,
        {{"ringmaster logs a1b2c3 -f --tail 20", "the last lines of rank 0, and what follows"},
         {"ringmaster logs a1b2c3 --all-ranks --since 10m", "each line with its rank"},
         {"ringmaster logs a1b2c3 --rank 3 -o json", "one object a line, with times"}});
}

}  // namespace rm
