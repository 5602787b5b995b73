#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "controller/core/goodput/goodput.h"
#include "controller/core/state.h"

namespace rm {

// A step report of any rank.
struct RankStep {
    JobId job;
    Epoch epoch;
    int rank = 0;
    std::int64_t end_offset = 0;
    WallTime received;
    WallTime end;  // by the rank's clock
    StepReport report;
};

// The accounts of the jobs that are at hand. Thread safe.
class GoodputBook {
public:
    // An attempt, as the tables have it.
    struct Facts {
        WallTime started;
        std::size_t num_ranks = 0;
    };

    bool has(const JobId& job) const;
    // The accounts of a job that is not at hand yet.
    void put(const JobId& job, std::vector<AttemptAccount> accounts);
    // Drops all other jobs.
    void keep_only(const std::set<JobId>& jobs);
    // Takes a report of a job at hand, in the order of arrival. Reports that it has seen change
    // nothing.
    void take(const RankStep& step, const Facts& facts);
    // The accounts that have changed since the last call of are_written().
    std::vector<AttemptAccount> changed() const;
    void are_written();
    TimeSplit split(const State& state, const Job& job, WallTime now) const;

private:
    using Accounts = std::map<Epoch, AttemptAccount>;

    double straggler(const RankStep& step, const Facts& facts);
    static AttemptAccount& account_of(Accounts& accounts, const RankStep& step);

    mutable std::mutex mutex_;
    std::map<JobId, Accounts> jobs_;
    std::map<Epoch, std::map<int, double>> work_;  // of each rank's last step, by rank
    std::set<std::pair<JobId, Epoch>> changed_;
};

}  // namespace rm
