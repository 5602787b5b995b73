#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "cli/screen/console.h"
#include "cli/screen/progress_display.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

namespace rm {

class Client;

// step 17/50  loss 2.8113  grad 0.94  412 ms  318k tok/s  MFU 46.1%  waiting 3.2%
// in at most 80 columns, without what is unknown. The rest of a step is in `show`.
std::string short_step_line(const pb::StepReport& step);

// Remembers which updates of a job have been shown, so that a stream that starts over (a restarted
// controller) repeats nothing: updates in, lines on the display out.
class JobFollower {
public:
    explicit JobFollower(ProgressDisplay& display) : display_(display) {}

    void update(const pb::JobUpdate& update);
    const pb::Job& job() const { return job_; }  // the newest state, steps and evaluations included
    bool ended() const;

private:
    void on_job(const pb::Job& job);
    void on_step(const pb::StepReport& step);
    void say_constants(const pb::StepReport& step);
    void say_diverged(const pb::StepReport& step);
    void on_evaluation(const pb::EvaluationReport& evaluation);
    Progress progress_of(const pb::StepReport& step);
    bool is_worth_a_line(const pb::StepReport& step) const;

    ProgressDisplay& display_;
    pb::Job job_;
    std::string shown_state_;
    std::string shown_constants_;
    std::int64_t shown_step_ = 0;
    std::int64_t shown_evaluation_ = 0;
    double speed_ = 0;  // tokens per second, smoothed
    int num_printed_ = 0;
    std::int64_t printed_step_ = 0;
    bool said_diverged_ = false;
};

// Watches one job: watch_of() a controller, or a test's own.
using Watch = std::function<Status(std::stop_token,
                                   const std::function<void(const pb::JobUpdate&)>& on_update)>;
Watch watch_of(const Client& client, const std::string& id);  // the client outlives it

struct FollowLimits {
    Seconds first_pause{0.5};
    Seconds longest_pause{5};
    int strange_failures = 10;  // in a row, while the controller answers
};

// Feeds the follower until the job has ended or `stop` is requested; the follower says which. While
// the controller does not answer, says so once and keeps trying: training does not need it. Returns
// the error of repeated other failures. NOT_FOUND ends it at once.
Status follow(const Watch& watch, JobFollower& follower, ProgressDisplay& display,
              std::stop_token stop, FollowLimits limits = {});

// 0 succeeded, 5 otherwise.
ExitCode exit_code_of(const pb::Job& ended);

}  // namespace rm
