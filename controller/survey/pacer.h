#pragma once

#include <map>
#include <set>
#include <string>

#include "base/clock.h"

namespace rm {

// Limits the share of time in which probes disturb a job: after a probe that took d, the job's
// nodes are left alone for d (1/budget - 1).
class Pacer {
public:
    // 0: jobs are not disturbed at all. 1: whenever wanted.
    explicit Pacer(double budget) : budget_(budget) {}

    // The earliest time at which a probe may touch all of these jobs; `now` or before: at once.
    // Nothing is ever due with a budget of 0 and a job.
    bool forbids(const std::set<std::string>& jobs) const { return budget_ <= 0 && !jobs.empty(); }
    MonoTime earliest(const std::set<std::string>& jobs) const;
    void used(const std::set<std::string>& jobs, MonoTime start, MonoTime end);

private:
    const double budget_;
    std::map<std::string, MonoTime> rest_until_;
};

}  // namespace rm
