#include "cli/follow.h"
#include "cli/signals.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

constexpr Seconds kPause{1};
constexpr int kTries = 3;

}  // namespace

// Goes on from the last byte after a lost controller: three times, with --follow for as long as it
// takes.
Result<ExitCode> run_verb(const LogsOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    pb::LogsRequest request;
    request.set_job_id(options.id);
    request.set_epoch(options.attempt);
    request.set_rank(options.rank);
    request.set_follow(options.follow);
    std::ostream& out = context.console.out.stream;
    for (int failures = 0;;) {
        const Status status = client.logs(request, {}, [&](const pb::LogPiece& piece) {
            failures = 0;
            if (piece.dropped() > 0) {
                context.console.note(format("({} bytes were dropped by the cap)", piece.dropped()));
            }
            out.write(piece.data().data(), static_cast<std::streamsize>(piece.data().size()));
            out.flush();
            request.set_offset(piece.offset() + static_cast<std::int64_t>(piece.data().size()));
        });
        if (status) return ExitCode::ok;
        if (status.error().code != ErrorCode::unavailable) return status.error();
        if (++failures >= kTries && !options.follow) return status.error();
        if (failures == 1) context.console.note(status.error().message + "; trying again");
        sleep_for(kPause, {});
    }
}

}  // namespace rm
