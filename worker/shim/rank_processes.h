#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "worker/dir/attempt_dir.h"
#include "worker/shim/oom_kills.h"

namespace rm {

// The rank processes of one attempt on one node: only this class starts, signals and reaps them.
// Each leads a process group of its own, which ends with it.
class RankProcesses {
public:
    RankProcesses(AttemptDir dir, AttemptFile attempt, OomKills oom_kills = {})
        : dir_(std::move(dir)), attempt_(std::move(attempt)), oom_kills_(std::move(oom_kills)) {}

    // Creates the progress pages and starts every rank; a rank that cannot be started counts as
    // exited. The ranks die with the calling thread (PR_SET_PDEATHSIG, set by the rank itself).
    void start_all(int live_lock, const Clock& clock);

    // Writes the exit files of the ranks that have ended since the last call and returns them.
    std::vector<int> reap(const Clock& clock, const std::string& kill_reason);

    void signal_all(int signal) const;

    bool any_left() const { return !running_.empty(); }
    const std::vector<ShimFile::Rank>& running() const { return running_; }

private:
    Result<ProcessId> start(int rank, int live_lock) const;
    void explain_signal(ExitFile& exit, const std::string& kill_reason) const;
    void write_exit(int rank, ExitFile exit, const Clock& clock) const;
    std::string last_words_of(int rank, int signal) const;

    const AttemptDir dir_;
    const AttemptFile attempt_;
    const OomKills oom_kills_;
    std::vector<ShimFile::Rank> running_;
};

}  // namespace rm
