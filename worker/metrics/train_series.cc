#include "worker/metrics/train_series.h"

#include <algorithm>

namespace rm {
namespace {

double seconds_of(WallTime time) {
    return static_cast<double>(time.micros) * 1e-6;
}

}  // namespace

TrainSeries::TrainSeries(TrainFamilies& families, const std::string& run)
    : families_(families), run_(run) {}

void TrainSeries::make_steps() {
    const prometheus::Labels labels = {{"run", run_}};
    TrainFamilies& f = families_;
    steps_.emplace(Steps{series_.add(f.step, labels), series_.add(f.tokens, labels),
                         series_.add(f.flops, labels), series_.add(f.loss, labels),
                         series_.add(f.grad_norm, labels), series_.add(f.learning_rate, labels),
                         series_.add(f.step_duration, labels, duration_buckets()),
                         series_.add(f.last_step_time, labels),
                         series_.add(f.nonfinite_steps, labels)});
}

void TrainSeries::update(const StepReport& report, WallTime time) {
    if (!steps_) make_steps();
    steps_->step.Set(static_cast<double>(report.step));
    // The report's total is the job's; a counter that repeats steps after a resume waits for it.
    const double total = static_cast<double>(report.tokens_total);
    steps_->tokens.Increment(std::max(0.0, total - steps_->tokens.Value()));
    steps_->flops.Increment(report.model_flops);
    steps_->loss.Set(report.loss);
    steps_->grad_norm.Set(report.grad_norm);
    steps_->learning_rate.Set(report.learning_rate);
    steps_->step_duration.Observe(report.seconds);
    steps_->last_step_time.Set(seconds_of(time));
    if (!report.finite) steps_->nonfinite_steps.Increment();
    if (report.causal_mfu > 0) set_mfu("causal", report.causal_mfu);
    if (report.full_mfu > 0) set_mfu("full", report.full_mfu);
    if (report.hfu > 0) set_hfu(report.hfu);
    for (const auto& [phase, seconds] : report.phase_seconds) {
        prometheus::Counter*& counter = phases_[phase];
        if (counter == nullptr) {
            counter = &series_.add(families_.phase_seconds, {{"run", run_}, {"phase", phase}});
        }
        counter->Increment(std::max(0.0, seconds));
    }
}

void TrainSeries::set_hfu(double ratio) {
    if (hfu_ == nullptr) hfu_ = &series_.add(families_.hfu, {{"run", run_}});
    hfu_->Set(ratio);
}

void TrainSeries::set_mfu(const std::string& convention, double ratio) {
    prometheus::Gauge*& gauge = mfu_[convention];
    if (gauge == nullptr) {
        gauge = &series_.add(families_.mfu, {{"run", run_}, {"convention", convention}});
    }
    gauge->Set(ratio);
}

void TrainSeries::update(const CheckpointReport& report, WallTime time) {
    if (checkpoint_time_ == nullptr) {
        checkpoint_duration_ = &series_.add(families_.checkpoint_duration, {{"run", run_}});
        checkpoint_time_ = &series_.add(families_.checkpoint_time, {{"run", run_}});
    }
    checkpoint_duration_->Set(report.seconds);
    checkpoint_time_->Set(seconds_of(time));
}

void TrainSeries::count_alarm() {
    if (alarms_ == nullptr) alarms_ = &series_.add(families_.alarms, {{"run", run_}});
    alarms_->Increment();
}

}  // namespace rm
