#include <google/protobuf/timestamp.pb.h>

#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/spec.pb.h"
#include "service/convert.h"
#include "service/proto_members.h"

namespace rm {
namespace {

constexpr std::int64_t kMicros = 1'000'000;

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

pb::MemoryPolicy to_proto(const MemoryPolicy& policy) {
    pb::MemoryPolicy out;
    out.set_tile_tokens(policy.tile_tokens);
    out.set_chunk_tokens(policy.chunk_tokens);
    out.set_keep(std::string(to_string(policy.keep)));
    out.set_alpha(policy.alpha);
    out.set_kept(std::string(to_string(policy.kept)));
    out.set_working(std::string(to_string(policy.working)));
    out.set_prefetch(policy.prefetch);
    out.set_arena(std::string(to_string(policy.reuse)));
    out.set_device(policy.device.value);
    out.set_host(policy.host.value);
    return out;
}

Result<MemoryPolicy> from_proto(const pb::MemoryPolicy& policy) {
    MemoryPolicy out{.tile_tokens = policy.tile_tokens(), .chunk_tokens = policy.chunk_tokens()};
    RM_TRY(out.keep, parse_keep(policy.keep()));
    out.alpha = policy.alpha();
    RM_TRY(out.kept, parse_kept_place(policy.kept()));
    RM_TRY(out.working, parse_working_set(policy.working()));
    out.prefetch = policy.prefetch();
    RM_TRY(out.reuse, parse_arena_reuse(policy.arena()));
    out.device = {policy.device()};
    out.host = {policy.host()};
    return out;
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

}  // namespace rm
