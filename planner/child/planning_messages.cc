#include "planner/child/planning_messages.h"

#include "planner/child/planning_members.h"
#include "ringmaster/v1/planning.pb.h"
#include "service/convert/proto_members.h"

namespace rm {
namespace {

template <typename Message>
Result<Message> parse(std::string_view bytes, std::string_view what) {
    Message message;
    if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
    return make_error(ErrorCode::data_loss, "{} bytes are no {}", bytes.size(), what);
}

Status check(const PlanningSnapshot& snapshot) {
    for (const PlanningJob& job : snapshot.pending) {
        if (job.files >= static_cast<int>(snapshot.files.size())) {
            return make_error(ErrorCode::data_loss, "job {} has files of number {}", job.id,
                              job.files);
        }
    }
    for (const PlanningDevice& device : snapshot.devices) {
        if (device.profile >= static_cast<int>(snapshot.profiles.size())) {
            return make_error(ErrorCode::data_loss, "device {} has a profile of number {}",
                              device.id, device.profile);
        }
    }
    const Status links = validate(snapshot.links);
    if (links) return {};
    return make_error(ErrorCode::data_loss, "links of a planning request: {}",
                      links.error().message);
}

SentDecision sent(const PlanDecision& decision) {
    SentDecision out{.job = decision.job, .plan = {}, .reasons = {}};
    if (const Plan* plan = std::get_if<Plan>(&decision.decision)) {
        out.plan = *plan;
    } else {
        out.reasons = std::get<Reasons>(decision.decision);
    }
    return out;
}

Result<PlanDecision> received(SentDecision decision) {
    if (decision.plan) return PlanDecision{decision.job, *std::move(decision.plan)};
    if (!decision.reasons.empty()) return PlanDecision{decision.job, std::move(decision.reasons)};
    return make_error(ErrorCode::data_loss, "job {} got neither a plan nor a reason", decision.job);
}

}  // namespace

std::string pack(const PlanningSnapshot& snapshot) {
    return proto_of<pb::PlanningRequest>(snapshot).SerializeAsString();
}

Result<PlanningSnapshot> unpack_snapshot(std::string_view bytes) {
    RM_TRY(const pb::PlanningRequest request,
           parse<pb::PlanningRequest>(bytes, "planning request"));
    RM_TRY(PlanningSnapshot snapshot, value_from<PlanningSnapshot>(request));
    RM_RETURN_IF_ERROR(check(snapshot));
    return snapshot;
}

std::string pack(const std::vector<PlanDecision>& decisions) {
    pb::PlanningReply reply;
    for (const PlanDecision& decision : decisions)
        *reply.add_decisions() = proto_of<pb::PlanningDecision>(sent(decision));
    return reply.SerializeAsString();
}

Result<std::vector<PlanDecision>> unpack_decisions(std::string_view bytes) {
    RM_TRY(const pb::PlanningReply reply, parse<pb::PlanningReply>(bytes, "planning reply"));
    std::vector<PlanDecision> decisions;
    for (const pb::PlanningDecision& message : reply.decisions()) {
        RM_TRY(SentDecision decision, value_from<SentDecision>(message));
        RM_TRY(PlanDecision read, received(std::move(decision)));
        decisions.push_back(std::move(read));
    }
    return decisions;
}

std::string pack(const Result<PlanDetail>& detail) {
    pb::PlanningReply reply;
    *reply.mutable_detail() = to_proto(detail);
    return reply.SerializeAsString();
}

Result<pb::PlanningDetail> unpack_detail(std::string_view bytes) {
    RM_TRY(pb::PlanningReply reply, parse<pb::PlanningReply>(bytes, "planning reply"));
    if (reply.has_detail()) return std::move(*reply.mutable_detail());
    return make_error(ErrorCode::data_loss, "a planning reply has no detail");
}

}  // namespace rm
