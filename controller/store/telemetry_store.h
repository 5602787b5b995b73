#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/units.h"
#include "controller/store/curve_store.h"
#include "controller/store/sqlite.h"

// telemetry.db and the log files: the output of ranks while they train. Not in control.db, by
// design: it may be lost or dropped, and it must never make a commit of the control plane wait.
namespace rm {

enum class PieceKind { step, evaluation, suite, note, alarm, connected, log };

struct TelemetryPiece {
    JobId job;
    Epoch epoch;
    int rank = 0;
    PieceKind kind = PieceKind::log;
    std::int64_t end_offset = 0;  // its end in the rank's stream of reports or of log bytes
    WallTime received;
    std::int64_t step = 0;  // of steps and evaluations
    double loss = 0;        // the same
    std::string name;       // of a suite
    std::string bytes;      // the report as it arrived, the note, or the log
};

// How far the streams of one rank are kept.
struct StreamOffsets {
    std::int64_t reports = 0;
    std::int64_t log = 0;
    std::int64_t log_dropped = 0;  // bytes of the log before this are gone
};

// The offsets as if everything up to the piece were kept, so that its worker can drop it.
StreamOffsets claimed_offsets(const TelemetryPiece& piece);

// One stored report.
struct KeptReport {
    std::int64_t id = 0;  // of its kind: grows in the order of arrival, over all jobs
    Epoch epoch;
    std::int64_t end_offset = 0;  // with the epoch: its place among the reports of all kinds
    WallTime received;
    std::string bytes;
};

// How far a reader has come in the reports of rank 0 of a job.
struct KeptUpTo {
    std::int64_t step_id = 0;
    std::int64_t evaluation_id = 0;
};

struct KeptEvaluation {
    std::int64_t id = 0;
    Epoch epoch;
    WallTime received;
    std::int64_t step = 0;
    double loss = 0;
};

struct LogPart {
    std::int64_t offset = 0;   // of `bytes`; may be past what was asked for
    std::string bytes;         // empty: nothing beyond `offset` yet
    std::int64_t dropped = 0;  // bytes before `offset` that the cap removed
    WallTime time;             // when `bytes` arrived; 0: not known
};

// The part of a log to read.
struct LogRange {
    std::int64_t offset = 0;
    std::int64_t tail_lines = 0;  // this many last lines; 0: all
    WallTime since;               // bytes that arrived then or later; 0: all
};

struct TelemetryPaths {
    std::string database;  // .../telemetry.db
    std::string logs;      // directory
};

// The only writer. Not thread safe: it belongs to the telemetry loop.
class TelemetryStore {
public:
    static Result<std::unique_ptr<TelemetryStore>> open(const TelemetryPaths& paths, Bytes log_cap,
                                                        StepSampler sampler = {});

    // Keeps the new pieces in one transaction; offsets tell which were kept before.
    Status write(std::span<const TelemetryPiece> pieces);
    Result<StreamOffsets> offsets(Epoch epoch, int rank);
    // The steps of rank 0 that were kept after a position, in order.
    Result<std::vector<KeptReport>> steps_after(const JobId& job, const KeptUpTo& position,
                                                int limit);
    Result<std::vector<KeptEvaluation>> evaluations_after(const JobId& job,
                                                          const KeptUpTo& position, int limit);
    // The position behind a step of an attempt, and behind all earlier attempts.
    Result<KeptUpTo> kept_up_to(const JobId& job, Epoch epoch, std::int64_t step);
    // Packs steps of ranks that have many (CurveStore::pack), once others have read them.
    Status pack();
    // Makes old steps smaller (CurveStore::tidy). Returns whether there is more to do at once.
    Result<bool> tidy(WallTime now);

private:
    using StreamKey = std::pair<std::int64_t, int>;
    struct Statements {
        Statement find_stream;
        Statement put_stream;
        Statement put_connected;
        Statement steps_after;
        Statement evaluations_after;
        Statement steps_up_to;
        Statement evaluations_up_to;
        std::map<PieceKind, Statement> put_report;
    };
    TelemetryStore(TelemetryPaths paths, Bytes log_cap, Database database, Statements statements,
                   CurveStore curves)
        : paths_(std::move(paths)),
          log_cap_(log_cap),
          database_(std::move(database)),
          sql_(std::move(statements)),
          curves_(std::move(curves)) {}

    // Forgets what memory holds of pieces: some may have been rolled back.
    void forget();
    Status keep(const TelemetryPiece& piece);
    Status keep_report(const TelemetryPiece& piece, StreamOffsets& offsets);
    Status keep_log(const TelemetryPiece& piece, StreamOffsets& offsets);
    Status enforce_cap(const std::string& path, StreamOffsets& offsets);

    const TelemetryPaths paths_;
    const Bytes log_cap_;
    Database database_;
    Statements sql_;
    CurveStore curves_;
    std::map<StreamKey, StreamOffsets> known_;
};

// Reads stored telemetry on its own connection. Thread safe.
class TelemetryReader {
public:
    static Result<std::unique_ptr<TelemetryReader>> open(const TelemetryPaths& paths,
                                                         StepSampler sampler = {});

    // The last report of rank 0, which speaks for the job. `kind` must not be connected or log.
    Result<std::optional<KeptReport>> last(const JobId& job, PieceKind kind);
    // The newest report of each suite of a job, in the order of arrival.
    Result<std::vector<KeptReport>> suites(const JobId& job);
    // The newest alarms of a job, newest first.
    Result<std::vector<KeptReport>> alarms(const JobId& job, int limit);
    Result<std::vector<KeptReport>> since(const JobId& job, PieceKind kind, std::int64_t after_id,
                                          int limit);
    // The last whole steps of any rank of one attempt, newest first.
    Result<std::vector<KeptReport>> last_steps(Epoch epoch, int rank, int limit);
    // Calls `read` with the reader of curves, which no other thread uses meanwhile.
    template <typename F>
    auto curves(F&& read) {
        const std::lock_guard lock(mutex_);
        return read(curves_);
    }
    // The newest `connected` report of each rank that has sent one.
    Result<std::map<int, std::string>> connections(Epoch epoch);
    // The offset at which to begin reading a range of a log, never below range.offset.
    Result<std::int64_t> log_begin(const JobId& job, Epoch epoch, int rank, const LogRange& range);
    // NOT_FOUND when the rank has no log yet.
    Result<LogPart> log(const JobId& job, Epoch epoch, int rank, std::int64_t offset,
                        std::int64_t max_bytes);

private:
    struct Statements {
        Statement find_stream;
        Statement last_steps;
        Statement suites;
        Statement alarms;
        Statement connections;
        std::map<PieceKind, Statement> last;
        std::map<PieceKind, Statement> since;
    };
    TelemetryReader(TelemetryPaths paths, Database database, Statements statements,
                    CurveReader curves)
        : paths_(std::move(paths)),
          database_(std::move(database)),
          sql_(std::move(statements)),
          curves_(std::move(curves)) {}

    Result<StreamOffsets> offsets(Epoch epoch, int rank);

    const TelemetryPaths paths_;
    std::mutex mutex_;
    Database database_;
    Statements sql_;
    CurveReader curves_;
};

}  // namespace rm
