#pragma once

#include <deque>
#include <memory>
#include <string>

#include "worker/metrics/series.h"
#include "worker/rank/report_line.h"

namespace rm {

// The families `ringmaster_train_*`: one child per run, exported by the worker that hosts rank 0.
struct TrainFamilies {
    prometheus::Registry& registry;

    Gauges& step =
        gauge_family(registry, "ringmaster_train_step", "Last finished step of the job.");
    Counters& tokens = counter_family(registry, "ringmaster_train_tokens_total",
                                      "Tokens trained since the start of the job.");
    Counters& flops = counter_family(registry, "ringmaster_train_flops_total",
                                     "Model FLOPs, attention counted causal, of all ranks.");
    Gauges& loss =
        gauge_family(registry, "ringmaster_train_loss", "Nats per target token, last step.");
    Gauges& grad_norm = gauge_family(registry, "ringmaster_train_grad_norm",
                                     "Global gradient norm before clipping, last step.");
    Gauges& learning_rate =
        gauge_family(registry, "ringmaster_train_learning_rate", "Learning rate of the last step.");
    Gauges& mfu =
        gauge_family(registry, "ringmaster_train_mfu_ratio",
                     "Model FLOPs over the mesh's peak, attention counted causal or full.");
    Gauges& hfu =
        gauge_family(registry, "ringmaster_train_hfu_ratio",
                     "FLOPs with what was recomputed over the mesh's peak, attention causal.");
    Histograms& step_duration =
        histogram_family(registry, "ringmaster_train_step_duration_seconds", "Duration of steps.");
    Gauges& median_step = gauge_family(registry, "ringmaster_train_median_step_seconds",
                                       "Median duration of the last 32 steps.");
    Counters& phase_seconds = counter_family(registry, "ringmaster_train_phase_seconds_total",
                                             "Time of rank 0 in each phase of its steps.");
    Gauges& last_step_time = gauge_family(registry, "ringmaster_train_last_step_timestamp_seconds",
                                          "When the last step finished.");
    Counters& nonfinite_steps = counter_family(registry, "ringmaster_train_nonfinite_steps_total",
                                               "Steps whose update was skipped.");
    Gauges& held_out_loss =
        gauge_family(registry, "ringmaster_train_held_out_loss",
                     "Nats per target token of held-out text, last evaluation.");
    Gauges& suite_score = gauge_family(registry, "ringmaster_train_suite_score_ratio",
                                       "Right answers of a suite at a length of its texts.");
    Gauges& fp8_flushed = gauge_family(
        registry, "ringmaster_train_fp8_flushed_ratio",
        "Numbers that rounding to FP8 made 0: their share of a tensor, the largest of all layers.");
    Gauges& fp8_saturated =
        gauge_family(registry, "ringmaster_train_fp8_saturated_ratio",
                     "Numbers that were too large for their scale in FP8: likewise.");
    Gauges& fp8_error =
        gauge_family(registry, "ringmaster_train_fp8_error_ratio",
                     "Relative error of a tensor rounded to FP8, the largest of all layers.");
    Gauges& fp8_fallback_layers =
        gauge_family(registry, "ringmaster_train_fp8_fallback_layers",
                     "Layers that compute in bf16 because FP8 does not hold a tensor of theirs.");
    Counters& fp8_fallbacks = counter_family(registry, "ringmaster_train_fp8_fallbacks_total",
                                             "How often a layer left FP8 for bf16.");
    Gauges& checkpoint_duration =
        gauge_family(registry, "ringmaster_train_checkpoint_duration_seconds",
                     "Duration of the last checkpoint.");
    Gauges& checkpoint_time =
        gauge_family(registry, "ringmaster_train_checkpoint_last_success_timestamp_seconds",
                     "When the last checkpoint was complete.");
    Gauges& checkpoint_due = gauge_family(
        registry, "ringmaster_train_checkpoint_due_timestamp_seconds",
        "When the next checkpoint should be complete, by the job's interval, the median step and "
        "the duration of the last checkpoint; in the past: it is late.");
    Counters& alarms =
        counter_family(registry, "ringmaster_train_alarms_total",
                       "Alarms of runs that continued, such as a damaged checkpoint.");
};

// The children of one run, created with their first value.
class TrainSeries {
public:
    TrainSeries(TrainFamilies& families, const std::string& run) : families_(families), run_(run) {}

    void update(const StepReport& report, WallTime time);
    void update(const CheckpointReport& report, WallTime time);
    void update(const EvaluationReport& report);
    // The mean of each length; of many lengths the first and the last.
    void update(const SuiteReport& report);
    void count_alarm();
    // Nothing is due of a run that has ended.
    void ended() { due_.reset(); }

private:
    static constexpr std::size_t kRecentSteps = 32;

    void set_mfu(const std::string& convention, double ratio);
    void update_fp8(const StepReport& report);
    void update_pace(const StepReport& report, WallTime time);

    TrainFamilies& families_;
    const std::string run_;
    const prometheus::Labels labels_ = {{"run", run_}};
    std::deque<double> recent_;   // durations of the last steps
    double last_checkpoint_ = 0;  // seconds that it took
    Series series_;
    std::unique_ptr<Series> due_;  // null: no checkpoint is due
};

}  // namespace rm
