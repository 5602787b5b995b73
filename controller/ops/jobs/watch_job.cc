#include <algorithm>
#include <array>

#include "controller/ops/linger.h"
#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {
namespace {

constexpr Seconds kLook{0.2};
constexpr int kBatch = 256;
constexpr std::array<PieceKind, 5> kKinds = {PieceKind::step, PieceKind::evaluation,
                                             PieceKind::suite, PieceKind::note, PieceKind::alarm};

pb::JobUpdate update_of(PieceKind kind, const KeptReport& kept) {
    pb::JobUpdate update;
    switch (kind) {
        case PieceKind::step:
            *update.mutable_step() = step_message(kept);
            break;
        case PieceKind::evaluation:
            *update.mutable_evaluation() = evaluation_message(kept);
            break;
        case PieceKind::suite:
            *update.mutable_suite() = suite_message(kept);
            break;
        case PieceKind::note:
        case PieceKind::alarm:
        case PieceKind::connected:
        case PieceKind::log:
            update.set_note(kept.bytes);
            break;
    }
    return update;
}

class Watch {
public:
    Watch(OpsContext& context, JobId id, const std::function<bool(const pb::JobUpdate&)>& write)
        : context_(context), id_(std::move(id)), write_(write) {}

    Status run(const StreamCall& call) {
        RM_RETURN_IF_ERROR(begin());
        while (!call.cancelled()) {
            const std::uint64_t seen = context_.updates.count();
            const bool ended = has_ended();
            RM_RETURN_IF_ERROR(send_reports());
            if (linger_.is_over(ended)) return send_job();
            if (!ended) RM_RETURN_IF_ERROR(send_job_if_changed());
            context_.updates.wait(seen, kLook);
        }
        return {};
    }

private:
    // Skips the reports that are already kept: the first message includes the last of them.
    Status begin() {
        for (const PieceKind kind : kKinds) {
            RM_TRY(const auto last, context_.telemetry.last(id_, kind));
            if (last) after_[usize(kind)] = last->id;
        }
        return has_ended() ? Status() : send_job_if_changed();
    }

    bool has_ended() const {
        return context_.control.read(
            [&](const State& state) { return is_terminal(find_job(state, id_)->state); });
    }

    Status send_job_if_changed() {
        const std::uint64_t revision = context_.control.read([&](const State& state) {
            const auto it = state.revisions.find(id_);
            return it == state.revisions.end() ? 0 : it->second;
        });
        if (sent_any_ && revision == revision_) return {};
        revision_ = revision;
        return send_job();
    }

    Status send_job() {
        sent_any_ = true;
        pb::JobUpdate update;
        RM_TRY(*update.mutable_job(), view_job(context_, id_.value));
        return send(update);
    }

    // In the order in which rank 0 made them, whatever their kind.
    Status send_reports() {
        std::vector<std::pair<PieceKind, KeptReport>> fresh;
        for (const PieceKind kind : kKinds) {
            std::int64_t& after = after_[usize(kind)];
            RM_TRY(auto reports, context_.telemetry.since(id_, kind, after, kBatch));
            if (!reports.empty()) after = reports.back().id;
            for (KeptReport& kept : reports)
                fresh.emplace_back(kind, std::move(kept));
        }
        std::sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second.epoch, a.second.end_offset) <
                   std::pair(b.second.epoch, b.second.end_offset);
        });
        for (const auto& [kind, kept] : fresh)
            RM_RETURN_IF_ERROR(send(update_of(kind, kept)));
        if (!fresh.empty()) linger_.saw_data();
        return {};
    }

    Status send(const pb::JobUpdate& update) {
        if (write_(update)) return {};
        return make_error(ErrorCode::cancelled, "the caller has gone");
    }

    OpsContext& context_;
    const JobId id_;
    const std::function<bool(const pb::JobUpdate&)>& write_;
    std::array<std::int64_t, kKinds.size()> after_{};  // by kind
    std::uint64_t revision_ = 0;
    bool sent_any_ = false;
    Linger linger_;
};

}  // namespace

Status watch_job(OpsContext& context, const pb::WatchRequest& request, const StreamCall& call,
                 const std::function<bool(const pb::JobUpdate&)>& write) {
    RM_TRY(const JobId id, context.control.read([&](const State& state) {
        return resolve_job(state, request.job_id());
    }));
    return Watch(context, id, write).run(call);
}

}  // namespace rm
