#pragma once

#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

namespace rm {

constexpr WallTime kSubmitted{1'767'323'045'000'000};  // 2026-01-02T03:04:05Z

inline WallTime after_submission(double seconds) {
    return kSubmitted + Seconds{seconds};
}

// A job of two stages: 4 steps of 8K tokens, then 4 of 16K; no attempt yet.
inline pb::Job pending_job() {
    pb::Job job;
    job.set_id("a1b2c3");
    job.set_project("default");
    job.set_owner("default");
    job.set_state(pb::JOB_STATE_PENDING);
    job.set_num_steps(8);
    *job.mutable_submitted() = to_proto(kSubmitted);
    pb::JobSpec& spec = *job.mutable_spec();
    spec.set_name("demo");
    spec.mutable_model()->set_preset("tiny");
    spec.set_precision("fp32");
    spec.mutable_data()->add_sources()->set_path("/data/books");
    spec.mutable_data()->set_format("auto");
    spec.mutable_data()->set_tokenizer("bytes");
    spec.mutable_data()->set_holdout(0.02);
    spec.set_seed(1);
    spec.mutable_checkpoint()->set_keep(2);
    for (const std::int64_t context : {8192, 16384}) {
        pb::StageSpec& stage = *spec.add_stages();
        stage.set_context(context);
        stage.set_batch(context);
        stage.set_tokens(4 * context);
        stage.set_rope_theta(10000);
        stage.set_learning_rate(0.001);
        stage.set_schedule("constant");
    }
    job.add_blocking_reasons("4 devices are wanted, 2 are free");
    return job;
}

inline pb::StepReport sample_step(std::int64_t step) {
    pb::StepReport report;
    report.set_step(step);
    report.set_num_steps(8);
    report.set_stage(step > 4 ? 1 : 0);
    report.set_tokens(step > 4 ? 16384 : 8192);
    report.set_tokens_total(step > 4 ? 4 * 8192 + (step - 4) * 16384 : step * 8192);
    report.set_loss(2.8113);
    report.set_grad_norm(0.94);
    report.set_finite(true);
    report.set_seconds(2);
    report.set_causal_mfu(0.461);
    report.set_full_mfu(0.6);
    report.set_peak_name("fp32 112 GFLOP/s measured");
    (*report.mutable_memory_bytes())["weights"] = std::int64_t{3} << 29;
    pb::AxisTraffic& ring = (*report.mutable_axes())["ring"];
    ring.set_bytes_sent(1 << 20);
    ring.set_wait_seconds(0.06);
    return report;
}

inline pb::EvaluationReport sample_evaluation(std::int64_t step) {
    pb::EvaluationReport report;
    report.set_step(step);
    report.set_targets(65536);
    report.set_loss(2.71);
    report.set_unigram_entropy(3.41);
    report.set_bigram_entropy(2.61);
    return report;
}

inline pb::Job running_job(std::int64_t step) {
    pb::Job job = pending_job();
    job.clear_blocking_reasons();
    job.set_state(pb::JOB_STATE_RUNNING);
    pb::Attempt& attempt = *job.add_attempts();
    attempt.set_epoch(3);
    attempt.set_state(pb::ATTEMPT_STATE_RUNNING);
    pb::MeshSpec& mesh = *attempt.mutable_mesh();
    mesh.set_data(1);
    mesh.set_ring(2);
    mesh.set_ulysses(1);
    mesh.set_tensor(1);
    for (const char* node : {"n1", "n2"})
        attempt.add_placement()->set_node_id(node);
    *attempt.mutable_started() = to_proto(after_submission(5));
    attempt.set_last_checkpoint_path("/ckpt/a1b2c3/e3-s2");
    if (step > 0) *job.mutable_last_step() = sample_step(step);
    return job;
}

inline pb::Job ended_job(pb::JobState state, const std::string& failure = "") {
    pb::Job job = running_job(8);
    job.set_state(state);
    job.set_failure(failure);
    *job.mutable_ended() = to_proto(after_submission(65));
    *job.mutable_last_evaluation() = sample_evaluation(8);
    pb::Attempt& attempt = *job.mutable_attempts(0);
    attempt.set_state(state == pb::JOB_STATE_SUCCEEDED ? pb::ATTEMPT_STATE_SUCCEEDED
                                                       : pb::ATTEMPT_STATE_FAILED);
    *attempt.mutable_ended() = to_proto(after_submission(65));
    attempt.set_cause(failure);
    return job;
}

}  // namespace rm
