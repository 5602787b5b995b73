#include <google/protobuf/timestamp.pb.h>

#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/spec.pb.h"
#include "service/convert.h"

namespace rm {
namespace {

constexpr std::int64_t kMicros = 1'000'000;

void fill(pb::StageSpec& out, const StageSpec& stage) {
    out.set_context(stage.context);
    out.set_batch(stage.batch);
    out.set_tokens(stage.tokens);
    out.set_rope_theta(stage.rope_theta);
    out.set_learning_rate(stage.learning_rate);
    out.set_warmup_steps(stage.warmup_steps);
    out.set_schedule(std::string(to_string(stage.schedule)));
    out.set_final_learning_rate(stage.final_learning_rate);
}

Result<StageSpec> stage_from(const pb::StageSpec& stage) {
    RM_TRY(const Schedule schedule, parse_schedule(stage.schedule()));
    return StageSpec{.context = stage.context(),
                     .batch = stage.batch(),
                     .tokens = stage.tokens(),
                     .rope_theta = stage.rope_theta(),
                     .learning_rate = stage.learning_rate(),
                     .warmup_steps = stage.warmup_steps(),
                     .schedule = schedule,
                     .final_learning_rate = stage.final_learning_rate()};
}

void fill(pb::DataSpec& out, const DataSpec& data) {
    for (const DataSource& source : data.sources) {
        pb::DataSource& added = *out.add_sources();
        added.set_path(source.path);
        added.set_proportion(source.proportion);
    }
    out.set_format(data.format);
    out.set_tokenizer(data.tokenizer);
    out.set_holdout(data.holdout);
    out.set_documents(std::string(to_string(data.documents)));
    out.set_positions(std::string(to_string(data.positions)));
}

// A word that an older sender does not have is its default.
std::string word_or(const std::string& word, const char* standard) {
    return word.empty() ? standard : word;
}

Result<DataSpec> data_from(const pb::DataSpec& data) {
    DataSpec out{.sources = {},
                 .format = data.format(),
                 .tokenizer = data.tokenizer(),
                 .holdout = data.holdout()};
    RM_TRY(out.documents, parse_documents(word_or(data.documents(), "joined")));
    RM_TRY(out.positions, parse_positions(word_or(data.positions(), "reset")));
    for (const pb::DataSource& source : data.sources())
        out.sources.push_back({source.path(), source.proportion()});
    return out;
}

void fill(pb::OptimizerSpec& out, const OptimizerSpec& optimizer) {
    out.set_beta1(optimizer.beta1);
    out.set_beta2(optimizer.beta2);
    out.set_eps(optimizer.eps);
    out.set_weight_decay(optimizer.weight_decay);
    out.set_clip_norm(optimizer.clip_norm);
    out.set_place(std::string(to_string(optimizer.place)));
    out.set_moments(optimizer.moments);
    out.set_max_skipped(optimizer.max_skipped);
}

Result<OptimizerSpec> optimizer_from(const pb::OptimizerSpec& optimizer) {
    OptimizerSpec out{.beta1 = optimizer.beta1(),
                      .beta2 = optimizer.beta2(),
                      .eps = optimizer.eps(),
                      .weight_decay = optimizer.weight_decay(),
                      .clip_norm = optimizer.clip_norm()};
    RM_TRY(out.place, parse_optimizer_place(word_or(optimizer.place(), "device")));
    out.moments = word_or(optimizer.moments(), "fp32");
    if (optimizer.max_skipped() != 0) out.max_skipped = optimizer.max_skipped();
    return out;
}

void fill(pb::MemorySpec& out, const MemorySpec& memory) {
    out.set_tile(memory.tile);
    out.set_chunk(memory.chunk);
    out.set_keep(std::string(to_string(memory.keep)));
    if (memory.alpha) out.set_alpha(*memory.alpha);
    out.set_offload(std::string(to_string(memory.offload)));
    out.set_windows(std::string(to_string(memory.windows)));
    out.set_prefetch(memory.prefetch);
    out.set_arena(std::string(to_string(memory.arena)));
    if (memory.device) out.set_device(memory.device->value);
    if (memory.host) out.set_host(memory.host->value);
}

Result<MemorySpec> memory_from(const pb::MemorySpec& memory) {
    MemorySpec out{.tile = memory.tile(), .chunk = memory.chunk()};
    RM_TRY(out.keep, parse_keep_or_auto(word_or(memory.keep(), "auto")));
    if (memory.has_alpha()) out.alpha = memory.alpha();
    RM_TRY(out.offload, parse_switch(word_or(memory.offload(), "auto")));
    RM_TRY(out.windows, parse_switch(word_or(memory.windows(), "auto")));
    if (memory.has_prefetch()) out.prefetch = memory.prefetch();
    RM_TRY(out.arena, parse_arena_reuse(word_or(memory.arena(), "reuse")));
    if (memory.has_device()) out.device = Bytes{memory.device()};
    if (memory.has_host()) out.host = Bytes{memory.host()};
    return out;
}

void fill(pb::ResourcesSpec& out, const ResourcesSpec& resources) {
    out.set_devices(resources.devices);
    out.set_kind(resources.kind);
    for (const DeviceId& device : resources.placement)
        *out.add_placement() = to_proto(device);
}

ResourcesSpec resources_from(const pb::ResourcesSpec& resources) {
    ResourcesSpec out{.devices = resources.devices(), .kind = resources.kind(), .placement = {}};
    for (const pb::PlacedDevice& device : resources.placement())
        out.placement.push_back(from_proto(device));
    return out;
}

// The small parts: resources, checkpoint, evaluation, export, retry, priority.
void fill_policies(pb::JobSpec& out, const JobSpec& spec) {
    fill(*out.mutable_resources(), spec.resources);
    out.mutable_checkpoint()->set_dir(spec.checkpoint.dir);
    out.mutable_checkpoint()->set_every_steps(spec.checkpoint.every_steps);
    out.mutable_checkpoint()->set_every_seconds(spec.checkpoint.every.value);
    out.mutable_checkpoint()->set_keep(spec.checkpoint.keep);
    out.mutable_checkpoint()->set_from(spec.checkpoint.from);
    out.mutable_evaluation()->set_every_steps(spec.evaluation.every_steps);
    out.mutable_evaluation()->set_tokens(spec.evaluation.tokens);
    out.mutable_exports()->set_huggingface(spec.exports.huggingface);
    out.mutable_retry()->set_max(spec.retry.max);
    out.mutable_retry()->set_lost_after_seconds(spec.retry.lost_after.value);
    out.set_priority(spec.priority);
}

void read_policies(JobSpec& out, const pb::JobSpec& spec) {
    out.resources = resources_from(spec.resources());
    out.checkpoint = {.dir = spec.checkpoint().dir(),
                      .every_steps = spec.checkpoint().every_steps(),
                      .keep = spec.checkpoint().keep(),
                      .from = spec.checkpoint().from()};
    if (spec.checkpoint().has_every_seconds()) {
        out.checkpoint.every = {spec.checkpoint().every_seconds()};
    }
    out.evaluation = {.every_steps = spec.evaluation().every_steps(),
                      .tokens = spec.evaluation().tokens()};
    out.exports = {.huggingface = spec.exports().huggingface()};
    if (spec.has_retry()) {
        out.retry = {.max = spec.retry().max(), .lost_after = {spec.retry().lost_after_seconds()}};
    }
    out.priority = spec.priority();
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
    out.set_name(spec.name);
    out.mutable_model()->set_preset(spec.model.preset);
    out.mutable_model()->set_from(spec.model.from);
    fill(*out.mutable_data(), spec.data);
    out.set_seed(spec.seed);
    for (const StageSpec& stage : spec.stages)
        fill(*out.add_stages(), stage);
    if (spec.parallel) *out.mutable_parallel() = to_proto(*spec.parallel);
    out.set_zero(spec.zero);
    out.set_precision(spec.precision);
    fill(*out.mutable_optimizer(), spec.optimizer);
    fill(*out.mutable_memory(), spec.memory);
    fill_policies(out, spec);
    return out;
}

Result<JobSpec> from_proto(const pb::JobSpec& spec) {
    JobSpec out;
    out.name = spec.name();
    out.model = {.preset = spec.model().preset(), .from = spec.model().from()};
    RM_TRY(out.data, data_from(spec.data()));
    out.seed = spec.seed();
    for (const pb::StageSpec& stage : spec.stages()) {
        RM_TRY(StageSpec converted, stage_from(stage));
        out.stages.push_back(converted);
    }
    if (spec.has_parallel()) {
        RM_TRY(out.parallel, from_proto(spec.parallel()));
    }
    out.zero = spec.zero();
    out.precision = spec.precision();
    RM_TRY(out.optimizer, optimizer_from(spec.optimizer()));
    RM_TRY(out.memory, memory_from(spec.memory()));
    read_policies(out, spec);
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
