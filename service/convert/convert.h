#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "spec/job_spec.h"
#include "spec/plan.h"
#include "spec/report.h"
#include "spec/session.h"
#include "topology/placement_report.h"

// Converts base types to messages and back. Values are carried over as they are; from_proto fails
// only where a message can say what a type cannot (an unknown schedule, a mesh axis below 1, an
// empty oneof). Messages are declared, not included: sources that use them include
// ringmaster/v1/*.pb.h themselves.
namespace google::protobuf {
class Timestamp;
}
namespace ringmaster::v1 {
class AttemptStatus;
class ConnectedReport;
class GpuUse;
class ControllerMessage;
class EvaluationReport;
class Inventory;
class JobSpec;
class MeasuredProfile;
class MemoryPolicy;
class MeshSpec;
class PlacedDevice;
class Plan;
class PlanPrediction;
class PlacementReport;
class Root;
class RunCost;
class StepReport;
class SuiteReport;
class WorkerMessage;
}  // namespace ringmaster::v1

namespace rm {

namespace pb = ringmaster::v1;

google::protobuf::Timestamp to_proto(WallTime time);
WallTime from_proto(const google::protobuf::Timestamp& time);

pb::PlacedDevice to_proto(const DeviceId& device);
DeviceId from_proto(const pb::PlacedDevice& device);
pb::MeshSpec to_proto(const Mesh& mesh);
Result<Mesh> from_proto(const pb::MeshSpec& mesh);

pb::Plan to_proto(const Plan& plan);
pb::PlanPrediction to_proto(const PlanPrediction& predicted);
pb::RunCost to_proto(const RunCost& cost);
RunCost from_proto(const pb::RunCost& cost);

pb::MemoryPolicy to_proto(const MemoryPolicy& policy);
Result<MemoryPolicy> from_proto(const pb::MemoryPolicy& policy);

// JobSpec.yaml is not part of the type: the caller that has the text sets and reads it.
pb::JobSpec to_proto(const JobSpec& spec);
Result<JobSpec> from_proto(const pb::JobSpec& spec);

// StepReport.time is no part of the type: the receiver stamps it. memory.total is the sum of the
// kinds.
pb::StepReport to_proto(const StepReport& report);
StepReport from_proto(const pb::StepReport& report);
pb::EvaluationReport to_proto(const EvaluationReport& report);
EvaluationReport from_proto(const pb::EvaluationReport& report);
pb::SuiteReport to_proto(const SuiteReport& report);
SuiteReport from_proto(const pb::SuiteReport& report);
pb::ConnectedReport to_proto(const ConnectedReport& report);
ConnectedReport from_proto(const pb::ConnectedReport& report);

pb::Inventory to_proto(const Inventory& inventory);
Inventory from_proto(const pb::Inventory& inventory);
pb::AttemptStatus to_proto(const AttemptStatus& status);
AttemptStatus from_proto(const pb::AttemptStatus& status);

pb::Root to_proto(const RootInfo& root);
pb::GpuUse to_proto(const GpuUse& use);
pb::MeasuredProfile to_proto(const MeasuredProfile& profile);

pb::PlacementReport to_proto(const PlacementReport& report);
Result<PlacementReport> from_proto(const pb::PlacementReport& report);

pb::WorkerMessage to_proto(const WorkerMessage& message);
Result<WorkerMessage> from_proto(const pb::WorkerMessage& message);
pb::ControllerMessage to_proto(const ControllerMessage& message);
Result<ControllerMessage> from_proto(const pb::ControllerMessage& message);

}  // namespace rm
