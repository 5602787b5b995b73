#pragma once

#include <map>
#include <string>

#include "worker/metrics/series.h"
#include "worker/rank/report_line.h"

namespace rm {

// The families `ringmaster_train_*`: one run each child, exported by the worker that hosts rank 0.
struct TrainFamilies {
    explicit TrainFamilies(prometheus::Registry& registry);

    prometheus::Family<prometheus::Gauge>& step;
    prometheus::Family<prometheus::Counter>& tokens;
    prometheus::Family<prometheus::Counter>& flops;
    prometheus::Family<prometheus::Gauge>& loss;
    prometheus::Family<prometheus::Gauge>& grad_norm;
    prometheus::Family<prometheus::Gauge>& learning_rate;
    prometheus::Family<prometheus::Gauge>& mfu;
    prometheus::Family<prometheus::Gauge>& hfu;
    prometheus::Family<prometheus::Histogram>& step_duration;
    prometheus::Family<prometheus::Counter>& phase_seconds;
    prometheus::Family<prometheus::Gauge>& last_step_time;
    prometheus::Family<prometheus::Counter>& nonfinite_steps;
    prometheus::Family<prometheus::Gauge>& checkpoint_duration;
    prometheus::Family<prometheus::Gauge>& checkpoint_time;
    prometheus::Family<prometheus::Counter>& alarms;
};

// The children of one run, created with their first value.
class TrainSeries {
public:
    TrainSeries(TrainFamilies& families, const std::string& run);

    void update(const StepReport& report, WallTime time);
    void update(const CheckpointReport& report, WallTime time);
    void count_alarm();

private:
    struct Steps {
        prometheus::Gauge& step;
        prometheus::Counter& tokens;
        prometheus::Counter& flops;
        prometheus::Gauge& loss;
        prometheus::Gauge& grad_norm;
        prometheus::Gauge& learning_rate;
        prometheus::Histogram& step_duration;
        prometheus::Gauge& last_step_time;
        prometheus::Counter& nonfinite_steps;
    };
    void make_steps();
    void set_mfu(const std::string& convention, double ratio);
    void set_hfu(double ratio);

    TrainFamilies& families_;
    const std::string run_;
    Series series_;
    std::optional<Steps> steps_;
    std::map<std::string, prometheus::Gauge*> mfu_;
    prometheus::Gauge* hfu_ = nullptr;
    prometheus::Counter* alarms_ = nullptr;
    std::map<std::string, prometheus::Counter*> phases_;
    prometheus::Gauge* checkpoint_duration_ = nullptr;
    prometheus::Gauge* checkpoint_time_ = nullptr;
};

}  // namespace rm
