#include "worker/metrics/train_series.h"

#include <algorithm>

#include "base/median.h"

namespace rm {
namespace {

double seconds_of(WallTime time) {
    return static_cast<double>(time.micros) * 1e-6;
}

}  // namespace

void TrainSeries::update(const StepReport& report, WallTime time) {
    TrainFamilies& f = families_;
    series_.add(f.step, labels_).Set(static_cast<double>(report.step));
    // The report's total is the job's: after a resume the counter holds until the total passes it.
    prometheus::Counter& tokens = series_.add(f.tokens, labels_);
    tokens.Increment(std::max(0.0, static_cast<double>(report.tokens_total) - tokens.Value()));
    series_.add(f.flops, labels_).Increment(report.model_flops);
    series_.add(f.loss, labels_).Set(report.loss);
    series_.add(f.grad_norm, labels_).Set(report.grad_norm);
    series_.add(f.learning_rate, labels_).Set(report.learning_rate);
    series_.add(f.step_duration, labels_, duration_buckets()).Observe(report.seconds);
    series_.add(f.last_step_time, labels_).Set(seconds_of(time));
    update_pace(report, time);
    series_.add(f.nonfinite_steps, labels_).Increment(report.finite ? 0 : 1);
    if (report.causal_mfu > 0) set_mfu("causal", report.causal_mfu);
    if (report.full_mfu > 0) set_mfu("full", report.full_mfu);
    if (report.hfu > 0) series_.add(f.hfu, labels_).Set(report.hfu);
    update_fp8(report);
    for (const auto& [phase, seconds] : report.phase_seconds) {
        series_.add(f.phase_seconds, {{"run", run_}, {"phase", phase}})
            .Increment(std::max(0.0, seconds));
    }
}

// The report's count is the run's: a run that goes on elsewhere begins anew, as its counter does.
void TrainSeries::update_fp8(const StepReport& report) {
    if (report.fp8.empty() && report.fp8_fallback_layers == 0) return;
    for (const auto& [tensor, seen] : report.fp8) {
        const prometheus::Labels labels{{"run", run_}, {"tensor", tensor}};
        series_.add(families_.fp8_flushed, labels).Set(seen.flushed);
        series_.add(families_.fp8_saturated, labels).Set(seen.saturated);
        series_.add(families_.fp8_error, labels).Set(seen.error);
    }
    series_.add(families_.fp8_fallback_layers, labels_)
        .Set(static_cast<double>(report.fp8_fallback_layers));
    prometheus::Counter& fallbacks = series_.add(families_.fp8_fallbacks, labels_);
    const auto so_far = static_cast<double>(report.fp8_fallbacks);
    fallbacks.Increment(std::max(0.0, so_far - fallbacks.Value()));
}

// A checkpoint is written during the step after its own, or for longer.
void TrainSeries::update_pace(const StepReport& report, WallTime time) {
    recent_.push_back(report.seconds);
    if (recent_.size() > kRecentSteps) recent_.pop_front();
    const double step = median({recent_.begin(), recent_.end()});
    series_.add(families_.median_step, labels_).Set(step);
    if (report.checkpoint_due_step == 0) return;
    const auto steps_left = static_cast<double>(report.checkpoint_due_step - report.step);
    if (!due_) due_ = std::make_unique<Series>();
    due_->add(families_.checkpoint_due, labels_)
        .Set(seconds_of(time) + steps_left * step + std::max(step, last_checkpoint_));
}

void TrainSeries::set_mfu(const std::string& convention, double ratio) {
    series_.add(families_.mfu, {{"run", run_}, {"convention", convention}}).Set(ratio);
}

void TrainSeries::update(const CheckpointReport& report, WallTime time) {
    last_checkpoint_ = report.seconds;
    series_.add(families_.checkpoint_duration, labels_).Set(report.seconds);
    series_.add(families_.checkpoint_time, labels_).Set(seconds_of(time));
}

void TrainSeries::update(const EvaluationReport& report) {
    series_.add(families_.held_out_loss, labels_).Set(report.loss);
}

void TrainSeries::update(const SuiteReport& report) {
    constexpr std::size_t kMostLengths = 16;
    const std::vector<SuiteMean> means = suite_means(report);
    for (std::size_t i = 0; i < means.size(); ++i) {
        if (i + 1 >= kMostLengths && i + 1 < means.size()) continue;
        const prometheus::Labels labels{
            {"run", run_}, {"suite", report.name}, {"length", format("{}", means[i].length)}};
        series_.add(families_.suite_score, labels).Set(means[i].score);
    }
}

void TrainSeries::count_alarm() {
    series_.add(families_.alarms, labels_).Increment();
}

}  // namespace rm
