#include "base/text.h"
#include "controller/ops/linger.h"
#include "controller/ops/ops.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

constexpr std::int64_t kPieceBytes = 64 * 1024;
constexpr Seconds kLook{0.2};

struct Source {
    JobId job;
    Epoch epoch;         // 0: there is no attempt yet
    bool ended = false;  // the log is complete
};

// "its attempts are 18, 21": epochs are cluster-wide, so users cannot guess them.
std::string attempts_text(const State& state, const JobId& id) {
    const std::vector<Epoch>& epochs = epochs_of(state, id);
    if (epochs.empty()) return "it has had none yet";
    return (epochs.size() == 1 ? "its only attempt is " : "its attempts are ") + join(epochs);
}

Result<Source> find_source(const State& state, const pb::LogsRequest& request) {
    RM_TRY(const JobId id, resolve_job(state, request.job_id()));
    const bool ended = is_terminal(find_job(state, id)->state);
    const Attempt* attempt = newest_attempt(state, id);
    if (request.epoch() != 0) {
        attempt = find_attempt(state, {request.epoch()});
        if (attempt == nullptr || attempt->job != id) {
            return make_error(ErrorCode::not_found, "job {} has no attempt {}; {}", id,
                              request.epoch(), attempts_text(state, id));
        }
    }
    if (attempt == nullptr) {
        if (!ended && request.follow()) return Source{id, {}, false};
        return make_error(ErrorCode::not_found, "job {} is {} and has not started: there is no log",
                          id, to_string(find_job(state, id)->state));
    }
    const int ranks = attempt->mesh.num_ranks();
    if (request.rank() < 0 || request.rank() >= ranks) {
        return make_error(ErrorCode::not_found, "attempt {} of job {} has ranks 0 to {}, not {}",
                          attempt->epoch, id, ranks - 1, request.rank());
    }
    return Source{id, attempt->epoch, is_terminal(attempt->state)};
}

}  // namespace

LogRange range_of(const pb::LogsRequest& request) {
    LogRange range{.tail_lines = request.tail_lines()};
    if (request.has_since()) range.since = from_proto(request.since());
    return range;
}

Status read_logs(OpsContext& context, const pb::LogsRequest& request, const StreamCall& call,
                 const std::function<bool(const pb::LogPiece&)>& write) {
    std::int64_t offset = request.offset();
    LogRange range = range_of(request);
    Linger linger;
    while (!call.cancelled()) {
        const std::uint64_t seen = context.updates.count();
        RM_TRY(const Source source, context.control.read([&](const State& state) {
            return find_source(state, request);
        }));
        LogPart part;
        if (source.epoch.value != 0) {
            if (range.tail_lines > 0 || range.since.micros > 0) {
                range.offset = offset;
                RM_TRY(offset, context.telemetry.log_begin(source.job, source.epoch, request.rank(),
                                                           range));
                range = {};  // it only says where to begin
            }
            RM_TRY(part, context.telemetry.log(source.job, source.epoch, request.rank(), offset,
                                               kPieceBytes));
        }
        if (!part.bytes.empty()) {
            pb::LogPiece piece;
            piece.set_offset(part.offset);
            piece.set_data(part.bytes);
            piece.set_dropped(part.dropped);
            if (part.time.micros > 0) *piece.mutable_time() = to_proto(part.time);
            if (!write(piece)) return make_error(ErrorCode::cancelled, "the caller has gone");
            offset = part.offset + static_cast<std::int64_t>(part.bytes.size());
            linger.saw_data();
            continue;
        }
        if (!request.follow() || linger.is_over(source.ended)) return {};
        context.updates.wait(seen, kLook);
    }
    return {};
}

}  // namespace rm
