#include "service/convert/convert.h"

#include <google/protobuf/timestamp.pb.h>

#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/spec.pb.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/convert/proto_members.h"
#include "spec/plan_members.h"

namespace rm {
namespace {

constexpr std::int64_t kMicros = 1'000'000;

Error unknown_message(std::string_view from) {
    return invalid_argument(
        "a message of the {} is of a kind this program does not know; both must speak protocol {}",
        from, kProtocol);
}

}  // namespace

google::protobuf::Timestamp to_proto(WallTime time) {
    // Timestamp wants nanos from 0 up, also before 1970.
    const std::int64_t micros = (time.micros % kMicros + kMicros) % kMicros;
    google::protobuf::Timestamp out;
    out.set_seconds((time.micros - micros) / kMicros);
    out.set_nanos(static_cast<std::int32_t>(micros * 1000));
    return out;
}

WallTime from_proto(const google::protobuf::Timestamp& time) {
    return {time.seconds() * kMicros + time.nanos() / 1000};
}

pb::PlacedDevice to_proto(const DeviceId& device) {
    pb::PlacedDevice out;
    out.set_node_id(device.node.value);
    out.set_device(device.index);
    return out;
}

DeviceId from_proto(const pb::PlacedDevice& device) {
    return {{device.node_id()}, device.device()};
}

pb::MeshSpec to_proto(const Mesh& mesh) {
    pb::MeshSpec out;
    out.set_data(mesh.size(Axis::data));
    out.set_ring(mesh.size(Axis::ring));
    out.set_ulysses(mesh.size(Axis::ulysses));
    out.set_tensor(mesh.size(Axis::tensor));
    if (mesh.outer_ring() > 1) out.set_inner_ring(mesh.inner_ring());
    return out;
}

Result<Mesh> from_proto(const pb::MeshSpec& mesh) {
    return Mesh::make(mesh.data(), mesh.ring(), mesh.ulysses(), mesh.tensor(), mesh.inner_ring());
}

pb::Plan to_proto(const Plan& plan) {
    return proto_of<pb::Plan>(plan);
}
pb::PlanPrediction to_proto(const PlanPrediction& predicted) {
    return proto_of<pb::PlanPrediction>(predicted);
}
pb::RunCost to_proto(const RunCost& cost) {
    return proto_of<pb::RunCost>(cost);
}
RunCost from_proto(const pb::RunCost& cost) {
    return value_from<RunCost>(cost).value();
}
pb::MemoryPolicy to_proto(const MemoryPolicy& policy) {
    return proto_of<pb::MemoryPolicy>(policy);
}
Result<MemoryPolicy> from_proto(const pb::MemoryPolicy& policy) {
    return value_from<MemoryPolicy>(policy);
}
pb::JobSpec to_proto(const JobSpec& spec) {
    return proto_of<pb::JobSpec>(spec);
}
Result<JobSpec> from_proto(const pb::JobSpec& spec) {
    return value_from<JobSpec>(spec);
}
pb::StepReport to_proto(const StepReport& report) {
    return proto_of<pb::StepReport>(report);
}
StepReport from_proto(const pb::StepReport& report) {
    return value_from<StepReport>(report).value();
}
pb::ConnectedReport to_proto(const ConnectedReport& report) {
    return proto_of<pb::ConnectedReport>(report);
}
ConnectedReport from_proto(const pb::ConnectedReport& report) {
    return value_from<ConnectedReport>(report).value();
}
pb::EvaluationReport to_proto(const EvaluationReport& report) {
    return proto_of<pb::EvaluationReport>(report);
}
EvaluationReport from_proto(const pb::EvaluationReport& report) {
    return value_from<EvaluationReport>(report).value();
}

pb::SuiteReport to_proto(const SuiteReport& report) {
    return proto_of<pb::SuiteReport>(report);
}
SuiteReport from_proto(const pb::SuiteReport& report) {
    return value_from<SuiteReport>(report).value();
}

pb::Inventory to_proto(const Inventory& inventory) {
    return proto_of<pb::Inventory>(inventory);
}
Inventory from_proto(const pb::Inventory& inventory) {
    return value_from<Inventory>(inventory).value();
}
pb::AttemptStatus to_proto(const AttemptStatus& status) {
    return proto_of<pb::AttemptStatus>(status);
}
AttemptStatus from_proto(const pb::AttemptStatus& status) {
    return value_from<AttemptStatus>(status).value();
}
pb::GpuUse to_proto(const GpuUse& use) {
    return proto_of<pb::GpuUse>(use);
}

pb::Root to_proto(const RootInfo& root) {
    return proto_of<pb::Root>(root);
}
pb::MeasuredProfile to_proto(const MeasuredProfile& profile) {
    return proto_of<pb::MeasuredProfile>(profile);
}

pb::WorkerMessage to_proto(const WorkerMessage& message) {
    return proto_of<pb::WorkerMessage>(message, kWorkerMessages);
}
pb::ControllerMessage to_proto(const ControllerMessage& message) {
    return proto_of<pb::ControllerMessage>(message, kControllerMessages);
}

Result<WorkerMessage> from_proto(const pb::WorkerMessage& message) {
    auto found = variant_from<WorkerMessage>(message, kWorkerMessages);
    return found ? *std::move(found) : unknown_message("worker");
}
Result<ControllerMessage> from_proto(const pb::ControllerMessage& message) {
    auto found = variant_from<ControllerMessage>(message, kControllerMessages);
    return found ? *std::move(found) : unknown_message("controller");
}

}  // namespace rm
