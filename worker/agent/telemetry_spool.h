#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/units.h"
#include "spec/report.h"
#include "worker/agent/line_tail.h"
#include "worker/dir/attempt_dir.h"

namespace rm {

struct LogChunk {
    std::string bytes;
};
struct Note {
    std::string text;
    bool alarm = false;
};
// One message of the telemetry stream. All but logs share the reports' offsets.
struct SpooledPiece {
    Epoch epoch;
    int rank = 0;
    std::int64_t end_offset = 0;
    WallTime time;  // of a report, by its rank
    std::variant<StepReport, EvaluationReport, SuiteReport, ConnectedReport, Note, LogChunk>
        content;
};

constexpr std::int64_t kLargestLogChunk = 256 * 1024;

// Limit of an attempt's pending telemetry on the worker's disk while the controller is away.
constexpr Bytes kSpoolCap{std::int64_t{256} << 20};
// The spool never drops the last bytes of a log: they may be a rank's last words.
constexpr std::int64_t kKeptLogTail = 64 * 1024;

// The telemetry of one attempt that the controller has not acknowledged. The attempt's files hold
// the data, and two offsets per rank are the only state. Every new stream starts again from the
// acknowledged offsets.
class TelemetrySpool {
public:
    // Resumes from telemetry.json if it exists.
    TelemetrySpool(AttemptDir dir, const AttemptFile& attempt, Bytes cap = kSpoolCap);

    // The next piece that has not been sent on this stream: reports before logs, rank by rank.
    std::optional<SpooledPiece> next();
    // Starts a new stream: pieces that were sent but not acknowledged are sent again.
    void rewind();
    // Offsets never go back; those of an unknown rank are ignored.
    void acknowledge(int rank, std::int64_t reports_offset, std::int64_t log_offset);
    // Everything that is in the files now has been acknowledged.
    bool drained() const;
    // Frees the disk space of acknowledged log bytes. When more than the cap is pending, drops the
    // oldest bytes of the longest logs, an eighth of the cap at once, and adds a note with their
    // number to the reports of the rank. Never drops reports; they take a kilobyte a step.
    void trim(WallTime now);
    // Writes telemetry.json if the state has changed. Losing the file only costs repetition.
    Status save();

private:
    struct Rank {
        std::string log_path;
        std::string reports_path;
        std::int64_t acknowledged_log = 0;
        std::int64_t acknowledged_reports = 0;
        std::int64_t sent_log = 0;
        std::int64_t freed_log = 0;  // the spool has freed the bytes before it
        LineTail reports{""};
        std::deque<LineTail::Line> lines;  // read from `reports`, not sent yet
    };
    void load(const AttemptFile& attempt);
    std::int64_t waiting() const;
    static std::int64_t droppable(const Rank& rank);
    void free_acknowledged(Rank& rank) const;
    void drop_oldest(Rank& rank, std::int64_t bytes, WallTime now);
    std::optional<SpooledPiece> next_report(int number, Rank& rank) const;
    std::optional<SpooledPiece> next_log(int number, Rank& rank) const;

    const AttemptDir dir_;
    const Epoch epoch_;
    const Bytes cap_;
    std::map<int, Rank> ranks_;
    int last_log_rank_ = -1;  // ranks take turns
    bool changed_ = false;
};

}  // namespace rm
