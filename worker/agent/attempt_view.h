#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "spec/session.h"
#include "worker/agent/line_tail.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/progress_file.h"
#include "worker/rank/report_line.h"

namespace rm {

struct RankReport {
    int rank = 0;
    ReportLine line;
};

// The result of one look at an attempt's directory.
struct Observation {
    AttemptStatus status;
    std::vector<RankReport> reports;  // new since the last look, by rank and then in order
};

// Reads an attempt's directory as the shim and the ranks write it; changes nothing there. A new
// view (in a restarted daemon) reads everything from the start.
class AttemptView {
public:
    AttemptView(AttemptDir dir, AttemptFile attempt);

    Observation look(MonoTime now);
    const AttemptFile& attempt() const { return attempt_; }

private:
    struct Rank {
        RankLaunch launch;
        LineTail reports;
        std::optional<ProgressFile> progress;
        std::optional<ExitFile> exit;
    };

    void read_reports(Rank& rank, Observation& out);
    void note_milestones(const ReportLine& line);
    RankStatus status_of(Rank& rank, bool live, MonoTime now);
    void add_progress(Rank& rank, RankStatus& status, MonoTime now) const;
    void read_shim_file();
    const ProcessId* process_of(int rank) const;  // null: not started
    std::string shim_words() const;

    const AttemptDir dir_;
    const AttemptFile attempt_;
    std::vector<Rank> ranks_;
    std::optional<ShimFile> shim_;
    CheckpointReport checkpoint_;
    int stages_done_ = 0;
};

}  // namespace rm
