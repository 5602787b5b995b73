#include "planner/child/planning_messages.h"

#include <algorithm>
#include <iterator>

#include "planner/child/link_messages.h"
#include "service/convert.h"

namespace rm {
namespace {

template <typename Message>
Result<Message> parse(std::string_view bytes, std::string_view what) {
    Message message;
    if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
    return make_error(ErrorCode::data_loss, "{} bytes are no {}", bytes.size(), what);
}

void fill(pb::PlanningReason& out, const Reason& reason) {
    out.set_text(reason.text);
    out.set_remedy(reason.remedy);
    out.set_kind(static_cast<int>(reason.kind));
}

Reason reason_of(const pb::PlanningReason& reason) {
    return {reason.text(), reason.remedy(), static_cast<ReasonKind>(reason.kind())};
}

Reasons reasons_of(const google::protobuf::RepeatedPtrField<pb::PlanningReason>& reasons) {
    Reasons out;
    std::transform(reasons.begin(), reasons.end(), std::back_inserter(out), reason_of);
    return out;
}

void fill(pb::PlanningJob& out, const PlanningJob& job) {
    out.set_job_id(job.id.value);
    *out.mutable_spec() = to_proto(job.spec);
    out.set_waiting_since_micros(job.waiting_since.micros);
    for (const DeviceId& device : job.excluded)
        *out.add_excluded() = to_proto(device);
    fill(*out.mutable_waits(), job.waits);
    out.set_files(job.files + 1);
}

Result<PlanningJob> job_from(const pb::PlanningJob& job) {
    PlanningJob out{.id = {job.job_id()}};
    RM_TRY(out.spec, from_proto(job.spec()));
    out.waiting_since = {job.waiting_since_micros()};
    for (const pb::PlacedDevice& device : job.excluded())
        out.excluded.push_back(from_proto(device));
    out.waits = reason_of(job.waits());
    out.files = job.files() - 1;
    return out;
}

void fill(pb::PlanningFiles& out, const PlanningFiles& files) {
    for (const auto& [node, place] : files.nodes) {
        pb::PlanningFiles::Place& added = *out.add_places();
        added.set_node_id(node.value);
        added.set_against(place.against);
        added.set_place(place.place);
    }
    for (const Reason& reason : files.reasons)
        fill(*out.add_reasons(), reason);
    fill(*out.mutable_waits(), files.waits);
}

PlanningFiles files_from(const pb::PlanningFiles& files) {
    PlanningFiles out{
        .nodes = {}, .reasons = reasons_of(files.reasons()), .waits = reason_of(files.waits())};
    for (const pb::PlanningFiles::Place& place : files.places())
        out.nodes[{place.node_id()}] = {place.against(), place.place()};
    return out;
}

void fill(pb::PlanningDevice& out, const PlanningDevice& device) {
    *out.mutable_device() = to_proto(device.id);
    out.set_kind(device.kind);
    out.set_build(device.build);
    out.set_availability(static_cast<int>(device.availability));
    out.set_held_by(device.held_by);
}

PlanningDevice device_from(const pb::PlanningDevice& device) {
    return {.id = from_proto(device.device()),
            .kind = device.kind(),
            .build = device.build(),
            .availability = static_cast<Availability>(device.availability()),
            .held_by = device.held_by()};
}

void fill(pb::Plan& out, const Plan& plan) {
    *out.mutable_mesh() = to_proto(plan.mesh);
    out.set_zero(plan.zero);
    for (const DeviceId& device : plan.placement)
        *out.add_placement() = to_proto(device);
    *out.mutable_memory() = to_proto(plan.memory);
    out.set_collective_timeout_seconds(plan.collective_timeout.value);
}

Result<Plan> plan_from(const pb::Plan& plan) {
    Plan out;
    RM_TRY(out.mesh, from_proto(plan.mesh()));
    out.zero = plan.zero();
    for (const pb::PlacedDevice& device : plan.placement())
        out.placement.push_back(from_proto(device));
    RM_TRY(out.memory, from_proto(plan.memory()));
    out.collective_timeout = {plan.collective_timeout_seconds()};
    return out;
}

Result<PlanDecision> decision_from(const pb::PlanningDecision& decision) {
    PlanDecision out{.job = {decision.job_id()}};
    if (decision.has_plan()) {
        RM_TRY(out.decision, plan_from(decision.plan()));
        return out;
    }
    if (decision.reasons().empty()) {
        return make_error(ErrorCode::data_loss, "job {} got neither a plan nor a reason",
                          decision.job_id());
    }
    out.decision = reasons_of(decision.reasons());
    return out;
}

}  // namespace

std::string pack(const PlanningSnapshot& snapshot) {
    pb::PlanningRequest request;
    request.set_version(snapshot.version);
    request.set_now_micros(snapshot.now.micros);
    request.set_max_bypass_seconds(snapshot.max_bypass.value);
    for (const PlanningJob& job : snapshot.pending)
        fill(*request.add_pending(), job);
    for (const PlanningDevice& device : snapshot.devices)
        fill(*request.add_devices(), device);
    for (const PlanningFiles& files : snapshot.files)
        fill(*request.add_files(), files);
    if (!snapshot.links.empty()) fill(*request.mutable_links(), snapshot.links);
    return request.SerializeAsString();
}

Result<PlanningSnapshot> unpack_snapshot(std::string_view bytes) {
    RM_TRY(const pb::PlanningRequest request,
           parse<pb::PlanningRequest>(bytes, "planning request"));
    PlanningSnapshot snapshot{.version = request.version(),
                              .now = {request.now_micros()},
                              .max_bypass = {request.max_bypass_seconds()}};
    for (const pb::PlanningJob& message : request.pending()) {
        RM_TRY(PlanningJob job, job_from(message));
        snapshot.pending.push_back(std::move(job));
    }
    for (const pb::PlanningDevice& device : request.devices())
        snapshot.devices.push_back(device_from(device));
    for (const pb::PlanningFiles& files : request.files())
        snapshot.files.push_back(files_from(files));
    for (const PlanningJob& job : snapshot.pending) {
        if (job.files >= static_cast<int>(snapshot.files.size())) {
            return make_error(ErrorCode::data_loss, "job {} has files of number {}", job.id,
                              job.files);
        }
    }
    if (request.has_links()) {
        RM_TRY(snapshot.links, links_from(request.links()));
    }
    return snapshot;
}

std::string pack(const std::vector<PlanDecision>& decisions) {
    pb::PlanningReply reply;
    for (const PlanDecision& decision : decisions) {
        pb::PlanningDecision& out = *reply.add_decisions();
        out.set_job_id(decision.job.value);
        if (const Plan* plan = std::get_if<Plan>(&decision.decision)) {
            fill(*out.mutable_plan(), *plan);
        } else {
            for (const Reason& reason : std::get<Reasons>(decision.decision))
                fill(*out.add_reasons(), reason);
        }
    }
    return reply.SerializeAsString();
}

Result<std::vector<PlanDecision>> unpack_decisions(std::string_view bytes) {
    RM_TRY(const pb::PlanningReply reply, parse<pb::PlanningReply>(bytes, "planning reply"));
    std::vector<PlanDecision> decisions;
    for (const pb::PlanningDecision& message : reply.decisions()) {
        RM_TRY(PlanDecision decision, decision_from(message));
        decisions.push_back(std::move(decision));
    }
    return decisions;
}

}  // namespace rm
