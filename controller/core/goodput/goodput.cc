#include "controller/core/goodput/goodput.h"

#include <algorithm>
#include <numeric>

#include "base/median.h"

namespace rm {
namespace {

constexpr std::size_t kRecentSteps = 32;
// A step is a stall from this many times the usual duration on, and from this duration on.
constexpr double kStallFactor = 5;
constexpr double kShortestStall = 1;

// Reports of an attempt's last steps may come after its end.
constexpr Seconds kLastReports{10};

// Deals out a time; never more than it is.
class Dealer {
public:
    Dealer(TimeSplit& split, double seconds) : split_(split), left_(std::max(0.0, seconds)) {}

    void deal(Badput cause, double seconds) { split_.of(cause) += cut(seconds); }
    void rest(double& part) { part += cut(left_); }
    void rest(Badput cause) { rest(split_.of(cause)); }
    // A part of the time, to be dealt out by itself.
    Dealer part(double seconds) { return {split_, cut(seconds)}; }

private:
    double cut(double seconds) {
        const double all = std::clamp(seconds, 0.0, left_);
        left_ -= all;
        return all;
    }

    TimeSplit& split_;
    double left_;
};

double usual_step(const AttemptAccount& account) {
    return account.recent.empty() ? 0 : median(account.recent);
}

// By how much a time exceeds a usual step, if that makes it a stall; 0 where no step is usual yet.
double stall_in(double seconds, double usual) {
    const bool stalls = usual > 0 && seconds > std::max(kShortestStall, kStallFactor * usual);
    return stalls ? seconds - usual : 0;
}

void remember(AttemptAccount& account, double seconds) {
    account.recent.push_back(seconds);
    if (account.recent.size() > kRecentSteps) account.recent.erase(account.recent.begin());
}

// The waits of a step come first; the rest is its work.
void deal_step(AttemptAccount& account, Dealer dealer, const StepTimes& step) {
    const double seconds = step.seconds - step.checkpoint;
    const double stall = stall_in(seconds, usual_step(account));
    dealer.deal(Badput::checkpoint, step.checkpoint);
    dealer.deal(Badput::stall, stall);
    if (stall == 0) dealer.deal(Badput::straggler, step.straggler);
    const bool again = step.step <= account.reached;
    dealer.rest(again ? account.split.of(Badput::recomputed) : account.split.good);
    remember(account, seconds - stall);
}

void deal_time_before(Dealer& dealer, const StepTimes& step, bool is_first) {
    if (is_first) {
        dealer.deal(Badput::restore, step.loading);
        return dealer.rest(Badput::start);
    }
    dealer.deal(Badput::checkpoint, step.between);
    dealer.rest(Badput::idle);
}

// Between the end of the last step and that of the attempt. An attempt that ends with a checkpoint
// of its last step has waited for that; any other has lost a step.
TimeSplit tail_of(const AttemptSpan& attempt, double seconds) {
    TimeSplit split;
    Dealer dealer(split, seconds);
    if (attempt.account == nullptr) {
        dealer.rest(Badput::start);
    } else if (attempt.checkpoint_step >= attempt.account->last_step) {
        dealer.rest(Badput::checkpoint);
    } else {
        dealer.deal(Badput::stall, stall_in(seconds, usual_step(*attempt.account)));
        dealer.rest(Badput::recomputed);
    }
    return split;
}

double seconds_between(WallTime from, WallTime to) {
    return std::max(0.0, (to - from).value);
}

}  // namespace

double TimeSplit::total() const {
    return std::accumulate(bad.begin(), bad.end(), good);
}

void TimeSplit::add(const TimeSplit& other) {
    good += other.good;
    for (std::size_t i = 0; i < bad.size(); ++i)
        bad[i] += other.bad[i];
}

StepTimes times_of(const StepReport& report, WallTime end, WallTime received, double straggler) {
    return {.step = report.step,
            .end = end,
            .received = received,
            .seconds = report.seconds,
            .checkpoint = seconds_in(report, "checkpoint"),
            .between = report.checkpoint_seconds,
            .loading = report.loading_seconds,
            .straggler = straggler};
}

// Times of the rank's machine become the controller's by the shortest delay of a report so far:
// clocks differ, and reports come late after the controller was away.
void account(AttemptAccount& account, WallTime started, const StepTimes& step) {
    const bool is_first = account.last_step == 0;
    const Seconds offset = step.received - step.end;
    if (is_first) account.until = started;
    if (is_first || offset < account.clock_offset) account.clock_offset = offset;
    const WallTime end = std::max(account.until, step.end + account.clock_offset);
    Dealer dealer(account.split, seconds_between(account.until, end));
    deal_step(account, dealer.part(step.seconds), step);
    deal_time_before(dealer, step, is_first);
    account.until = end;
    account.last_step = step.step;
}

TimeSplit split_of(const JobSpan& job, WallTime now) {
    TimeSplit split;
    WallTime at = job.submitted;
    for (const AttemptSpan& attempt : job.attempts) {
        split.of(Badput::queue) += seconds_between(at, attempt.started);
        at = std::max(at, attempt.started);
        if (attempt.account != nullptr) {
            split.add(attempt.account->split);
            at = std::max(at, attempt.account->until);
        }
        if (attempt.ended.micros == 0) return split;
        if (now - attempt.ended >= kLastReports)
            split.add(tail_of(attempt, seconds_between(at, attempt.ended)));
        at = std::max(at, attempt.ended);
    }
    const WallTime end = job.ended.micros == 0 ? now : job.ended;
    split.of(Badput::queue) += seconds_between(at, end);
    return split;
}

}  // namespace rm
