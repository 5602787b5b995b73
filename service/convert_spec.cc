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
    pb::JobSpec out;
    ProtoWriter writer(out);
    describe(writer, spec);
    return out;
}

Result<JobSpec> from_proto(const pb::JobSpec& spec) {
    JobSpec out;
    ProtoReader reader(spec);
    describe(reader, out);
    RM_RETURN_IF_ERROR(reader.status());
    return out;
}

pb::StepReport to_proto(const StepReport& report) {
    pb::StepReport out;
    out.set_step(report.step);
    out.set_num_steps(report.num_steps);
    out.set_stage(report.stage);
    out.set_tokens(report.tokens);
    out.set_tokens_total(report.tokens_total);
    out.set_loss(report.loss);
    out.set_grad_norm(report.grad_norm);
    out.set_finite(report.finite);
    out.set_learning_rate(report.learning_rate);
    out.set_diverged_above(report.diverged_above);
    out.set_seconds(report.seconds);
    out.set_model_flops(report.model_flops);
    out.set_causal_mfu(report.causal_mfu);
    out.set_full_mfu(report.full_mfu);
    out.set_hfu(report.hfu);
    out.mutable_phase_seconds()->insert(report.phase_seconds.begin(), report.phase_seconds.end());
    for (const auto& [kind, bytes] : report.memory.by_kind) {
        (*out.mutable_memory_bytes())[kind] = bytes.value;
    }
    for (const auto& [name, traffic] : report.axes) {
        pb::AxisTraffic& axis = (*out.mutable_axes())[name];
        axis.set_bytes_sent(traffic.bytes_sent);
        axis.set_wait_seconds(traffic.wait_seconds);
    }
    out.set_last_collective(report.last_collective);
    out.set_peak_name(report.peak_name);
    for (const auto& [rank, rate] : report.hops) {
        pb::HopRate& hop = (*out.mutable_hops())[rank];
        hop.set_bytes(rate.bytes);
        hop.set_bytes_per_second(rate.bytes_per_second);
    }
    return out;
}

StepReport from_proto(const pb::StepReport& report) {
    StepReport out{.step = report.step(),
                   .num_steps = report.num_steps(),
                   .stage = report.stage(),
                   .tokens = report.tokens(),
                   .tokens_total = report.tokens_total(),
                   .loss = report.loss(),
                   .grad_norm = report.grad_norm(),
                   .finite = report.finite(),
                   .learning_rate = report.learning_rate(),
                   .diverged_above = report.diverged_above(),
                   .seconds = report.seconds(),
                   .model_flops = report.model_flops(),
                   .causal_mfu = report.causal_mfu(),
                   .full_mfu = report.full_mfu(),
                   .hfu = report.hfu(),
                   .peak_name = report.peak_name(),
                   .phase_seconds = {report.phase_seconds().begin(), report.phase_seconds().end()},
                   .last_collective = report.last_collective()};
    for (const auto& [rank, hop] : report.hops())
        out.hops[rank] = {.bytes = hop.bytes(), .bytes_per_second = hop.bytes_per_second()};
    for (const auto& [kind, bytes] : report.memory_bytes())
        out.memory.add(kind, Bytes{bytes});
    for (const auto& [name, axis] : report.axes()) {
        out.axes[name] = {.bytes_sent = axis.bytes_sent(), .wait_seconds = axis.wait_seconds()};
    }
    return out;
}

pb::ConnectedReport to_proto(const ConnectedReport& report) {
    pb::ConnectedReport out;
    out.set_rank(report.rank);
    out.set_address(report.address);
    for (const auto& [peer, ends] : report.peers) {
        pb::PeerConnection& connection = (*out.mutable_peers())[peer];
        connection.set_own(ends.own);
        connection.set_other(ends.other);
    }
    for (const auto& [name, ring] : report.rings) {
        pb::RingNeighbours& neighbours = (*out.mutable_rings())[name];
        neighbours.set_sends_to(ring.sends_to);
        neighbours.set_receives_from(ring.receives_from);
    }
    return out;
}

ConnectedReport from_proto(const pb::ConnectedReport& report) {
    ConnectedReport out{
        .rank = report.rank(), .address = report.address(), .peers = {}, .rings = {}};
    for (const auto& [peer, ends] : report.peers())
        out.peers[peer] = {.own = ends.own(), .other = ends.other()};
    for (const auto& [name, ring] : report.rings()) {
        out.rings[name] = {.sends_to = ring.sends_to(), .receives_from = ring.receives_from()};
    }
    return out;
}

pb::EvaluationReport to_proto(const EvaluationReport& report) {
    pb::EvaluationReport out;
    out.set_step(report.step);
    out.set_targets(report.targets);
    out.set_loss(report.loss);
    out.set_unigram_entropy(report.unigram_entropy);
    out.set_bigram_entropy(report.bigram_entropy);
    return out;
}

EvaluationReport from_proto(const pb::EvaluationReport& report) {
    return {.step = report.step(),
            .targets = report.targets(),
            .loss = report.loss(),
            .unigram_entropy = report.unigram_entropy(),
            .bigram_entropy = report.bigram_entropy()};
}

}  // namespace rm
