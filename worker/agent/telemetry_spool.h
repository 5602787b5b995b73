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
#include "base/report.h"
#include "base/units.h"
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
    std::variant<StepReport, EvaluationReport, ConnectedReport, Note, LogChunk> content;
};

constexpr std::int64_t kLargestLogChunk = 256 * 1024;

// How much of an attempt may wait on the worker's disk for a controller that does not come.
constexpr Bytes kSpoolCap{std::int64_t{256} << 20};
// Of each log the last bytes always stay: they may be a rank's last words.
constexpr std::int64_t kKeptLogTail = 64 * 1024;

// What the controller is still to get of one attempt: its files are the spool, two offsets per rank
// the state. Sent again from the acknowledged offsets on every new stream.
class TelemetrySpool {
public:
    // Goes on from telemetry.json where there is one.
    TelemetrySpool(AttemptDir dir, const AttemptFile& attempt, Bytes cap = kSpoolCap);

    // The next piece that has not been sent on this stream: reports before logs, rank by rank.
    std::optional<SpooledPiece> next();
    // A new stream: what was sent but not acknowledged is sent again.
    void rewind();
    // Offsets never go back; those of an unknown rank are ignored.
    void acknowledge(int rank, std::int64_t reports_offset, std::int64_t log_offset);
    // Everything that is in the files now has been acknowledged.
    bool drained() const;
    // Frees the disk of acknowledged log bytes. When more than the cap waits, the oldest bytes of
    // the longest logs are dropped, an eighth of the cap at once, and a note among the reports of
    // their rank says how many. Reports are never dropped; they take a kilobyte a step.
    void trim(WallTime now);
    // Writes telemetry.json when there is news. Losing it costs repetition, nothing else.
    Status save();

private:
    struct Rank {
        std::string log_path;
        std::string reports_path;
        std::int64_t acknowledged_log = 0;
        std::int64_t acknowledged_reports = 0;
        std::int64_t sent_log = 0;
        std::int64_t freed_log = 0;  // what lies before is not on the disk any more
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
    int last_log_rank_ = -1;  // takes turns
    bool changed_ = false;
};

}  // namespace rm
