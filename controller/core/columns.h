#pragma once

#include "controller/core/state.h"

// The durable columns of every table, once: storing, loading, events and comparing all walk these.
// `visit(name, value)` gets references; Self is the type or its const. A name here is a column of
// store/schema.cc and a field of the event log: renaming one is a migration.
namespace rm {

template <typename Self, typename Visit>
void job_columns(Self& job, Visit&& visit) {
    auto& spec = job.spec;
    visit("id", job.id);
    visit("number", job.number);
    visit("request_id", job.request);
    visit("project", job.project);
    visit("owner", job.owner);
    visit("state", job.state);
    visit("submitted", job.submitted);
    visit("ended", job.ended);
    visit("blocking_reasons", job.blocking_reasons);
    visit("failure", job.failure);
    visit("retry_at", job.retry_at);
    visit("excluded", job.excluded);
    visit("continues", job.continues);
    visit("recovered", job.recovered);
    visit("yaml", job.yaml);
    visit("name", spec.name);
    visit("model_preset", spec.model.preset);
    visit("model_from", spec.model.from);
    visit("data_sources", spec.data.sources);
    visit("data_format", spec.data.format);
    visit("data_tokenizer", spec.data.tokenizer);
    visit("data_holdout", spec.data.holdout);
    visit("data_documents", spec.data.documents);
    visit("data_positions", spec.data.positions);
    visit("seed", spec.seed);
    visit("parallel", spec.parallel);
    visit("zero", spec.zero);
    visit("memory_tile", spec.memory.tile);
    visit("memory_chunk", spec.memory.chunk);
    visit("memory_keep", spec.memory.keep);
    visit("memory_alpha", spec.memory.alpha);
    visit("memory_offload", spec.memory.offload);
    visit("memory_windows", spec.memory.windows);
    visit("memory_prefetch", spec.memory.prefetch);
    visit("memory_arena", spec.memory.arena);
    visit("memory_device", spec.memory.device);
    visit("memory_host", spec.memory.host);
    visit("precision", spec.precision);
    visit("optimizer_beta1", spec.optimizer.beta1);
    visit("optimizer_beta2", spec.optimizer.beta2);
    visit("optimizer_eps", spec.optimizer.eps);
    visit("optimizer_weight_decay", spec.optimizer.weight_decay);
    visit("optimizer_clip_norm", spec.optimizer.clip_norm);
    visit("optimizer_place", spec.optimizer.place);
    visit("optimizer_moments", spec.optimizer.moments);
    visit("optimizer_max_skipped", spec.optimizer.max_skipped);
    visit("resources_devices", spec.resources.devices);
    visit("resources_kind", spec.resources.kind);
    visit("resources_placement", spec.resources.placement);
    visit("checkpoint_dir", spec.checkpoint.dir);
    visit("checkpoint_every_steps", spec.checkpoint.every_steps);
    visit("checkpoint_every", spec.checkpoint.every);
    visit("checkpoint_keep", spec.checkpoint.keep);
    visit("checkpoint_from", spec.checkpoint.from);
    visit("retry_max", spec.retry.max);
    visit("retry_lost_after", spec.retry.lost_after);
    visit("priority", spec.priority);
    visit("evaluation_every_steps", spec.evaluation.every_steps);
    visit("evaluation_tokens", spec.evaluation.tokens);
    visit("export_huggingface", spec.exports.huggingface);
}

template <typename Self, typename Visit>
void stage_columns(Self& stage, Visit&& visit) {
    visit("context", stage.context);
    visit("batch", stage.batch);
    visit("tokens", stage.tokens);
    visit("rope_theta", stage.rope_theta);
    visit("learning_rate", stage.learning_rate);
    visit("warmup_steps", stage.warmup_steps);
    visit("schedule", stage.schedule);
    visit("final_learning_rate", stage.final_learning_rate);
}

template <typename Self, typename Visit>
void attempt_columns(Self& attempt, Visit&& visit) {
    visit("epoch", attempt.epoch);
    visit("job", attempt.job);
    visit("state", attempt.state);
    visit("mesh", attempt.mesh);
    visit("zero", attempt.zero);
    visit("tile_tokens", attempt.memory.tile_tokens);
    visit("chunk_tokens", attempt.memory.chunk_tokens);
    visit("keep", attempt.memory.keep);
    visit("alpha", attempt.memory.alpha);
    visit("kept", attempt.memory.kept);
    visit("working", attempt.memory.working);
    visit("prefetch", attempt.memory.prefetch);
    visit("arena", attempt.memory.reuse);
    visit("device_limit", attempt.memory.device);
    visit("host_limit", attempt.memory.host);
    visit("collective_timeout", attempt.collective_timeout);
    visit("started", attempt.started);
    visit("ended", attempt.ended);
    visit("stop_reason", attempt.stop_reason);
    visit("stop_mode", attempt.stop_mode);
    visit("cause", attempt.cause);
    visit("cause_rank", attempt.cause_rank);
    visit("failure_class", attempt.failure_class);
    visit("may_publish", attempt.may_publish);
    visit("checkpoint_step", attempt.checkpoint_step);
    visit("checkpoint_path", attempt.checkpoint_path);
    visit("stages_done", attempt.stages_done);
}

template <typename Self, typename Visit>
void placement_columns(Self& rank, Visit&& visit) {
    visit("node", rank.device.node);
    visit("device", rank.device.index);
    visit("state", rank.state);
    visit("exit_code", rank.exit_code);
    visit("exit_signal", rank.exit_signal);
    visit("error", rank.error);
}

template <typename Self, typename Visit>
void node_columns(Self& node, Visit&& visit) {
    auto& inventory = node.inventory;
    visit("id", node.id);
    visit("number", node.number);
    visit("state", node.state);
    visit("hostname", inventory.hostname);
    visit("os", inventory.os);
    visit("cpu_model", inventory.cpu_model);
    visit("num_cores", inventory.num_cores);
    visit("memory", inventory.memory);
    visit("data_address", inventory.data_address);
    visit("http_address", inventory.http_address);
    visit("boot_id", node.boot_id);
    visit("build", node.build);
    visit("drained", node.drained);
    visit("joined", node.joined);
    visit("last_seen", node.last_seen);
}

template <typename Self, typename Visit>
void device_columns(Self& device, Visit&& visit) {
    visit("device", device.index);
    visit("kind", device.kind);
    visit("memory", device.memory);
    visit("fp32_flops", device.fp32.flops);
    visit("fp32_name", device.fp32.name);
    visit("bf16_flops", device.bf16.flops);
    visit("bf16_name", device.bf16.name);
    visit("num_threads", device.num_threads);
}

template <typename Self, typename Visit>
void meta_columns(Self& state, Visit&& visit) {
    visit("cluster_id", state.cluster);
    visit("next_epoch", state.next_epoch);
    visit("restored", state.restored);
}

}  // namespace rm
