#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "controller/curves/chunk.h"
#include "controller/store/sqlite.h"

// The curves of jobs in telemetry.db. Reports of steps are kept whole while they are new; older
// ones are packed into chunks of one quantity each, a tenth of the size, and lines that grow long
// or old are thinned, so that a job of a million steps and years of history stay small.
namespace rm {

// How many reports of a rank are kept whole, and how many points its lines keep.
struct CurveLimits {
    int whole = 512;            // reports, at least
    int packed = 256;           // at once, as soon as there are so many more
    int whole_ended = 64;       // after kEnded without a report
    int chunk = 1 << 14;        // steps of one that still grows, so that a long line has few
    int points = 1 << 20;       // of a line, at most; half as many at least
    int points_old = 4096;      // of lines whose last step is older than kOld
    int points_ancient = 1024;  // than kAncient
};
constexpr Seconds kEnded{3600};
constexpr Seconds kOld{30.0 * 24 * 3600};
constexpr Seconds kAncient{365.0 * 24 * 3600};
CurveLimits curve_limits(int rank);

// The writer's half: belongs to the telemetry store and runs in its transactions.
class CurveStore {
public:
    // Without a sampler nothing is packed.
    static Result<CurveStore> open(Database& database, StepSampler sampler);

    // A transaction was rolled back: the next tidy() counts the whole reports again.
    void forget() { is_counted_ = false; }
    // Counts a kept report of a step.
    void kept_step(Epoch epoch, int rank, WallTime received);
    // Whether pack() has something to do.
    bool has_full() const { return !full_.empty(); }
    // Packs the oldest reports of ranks that have many, but none that the accounts of time have
    // still to read (goodput_store.h), unless those are very many.
    Status pack();
    // Packs what has been quiet for kEnded, and thins a few lines that are old or long. Returns
    // whether there is more to do at once.
    Result<bool> tidy(Database& database, WallTime now);

private:
    struct WholeReports {
        int count = 0;
        WallTime newest;
    };
    using StreamKey = std::pair<std::int64_t, int>;
    struct LineKey {
        std::string job;
        int rank = 0;
        std::string quantity;
    };
    struct Statements {
        Statement place;  // up to which the accounts of time have read
        Statement oldest;
        Statement drop;
        Statement last_chunk;
        Statement put_chunk;
        Statement put_rank;
        Statement long_ranks;
        Statement set_points;
        Statement quantities;
        Statement chunks;
        Statement drop_line;
    };
    CurveStore(Statements statements, StepSampler sampler)
        : sql_(std::move(statements)), sampler_(std::move(sampler)) {}

    static bool is_full(const WholeReports& whole, int rank);
    Status count_whole(Database& database);
    // Packs at most the `count` oldest reports; returns how many.
    Result<int> pack(Epoch epoch, int rank, int count);
    Status append(const LineKey& key, Epoch epoch, const CurveLine& line);
    Status put(const LineKey& key, Epoch epoch, const CurveLine& line);
    Result<bool> pack_ended(WallTime now);
    Result<bool> thin_long(WallTime now);
    Status thin_rank(const std::string& job, int rank, int points);
    Status thin_line(const LineKey& key, int points);

    Statements sql_;
    StepSampler sampler_;
    std::map<StreamKey, WholeReports> whole_;
    std::set<StreamKey> full_;
    bool is_counted_ = false;  // `whole_` is what the table has
};

// When each step ended, in microseconds of wall time: a line, but no quantity that readers name.
constexpr std::string_view kStepTimes = "time";
// The quantity of evaluations, which are kept as they are.
constexpr std::string_view kHeldOutLoss = "held_out_loss";

// One line as a reader gets it.
struct Curve {
    std::string quantity;
    int rank = 0;
    CurveLine line;
};

struct CurveQuery {
    JobId job;
    std::vector<std::string> quantities;
    int rank = 0;
    std::int64_t from_step = 0;
    std::optional<std::int64_t> to_step = std::nullopt;  // inclusive
    // 0: every point. Otherwise about eight times as many, enough to choose so many from.
    int max_points = 0;
};

// Reads curves on the connection of its owner, who takes care of threads.
class CurveReader {
public:
    static Result<CurveReader> open(Database& database, StepSampler sampler);

    // The lines over all attempts of the job: where an attempt ran steps again that an earlier one
    // had run, the later one's values stand. A quantity without values gives an empty line.
    Result<std::vector<Curve>> read(const CurveQuery& query);
    // The times at which steps, given ascending, ended; 0: not known. Thinned lines give some
    // between.
    Result<std::vector<WallTime>> times(const JobId& job, int rank,
                                        const std::vector<std::int64_t>& steps);
    // The names of all quantities of a rank, sorted.
    Result<std::vector<std::string>> quantities(const JobId& job, int rank);
    // The last one of rank 0, which has every step; 0: none yet.
    Result<std::int64_t> last_step(const JobId& job);
    // The ranks that have lines, ascending.
    Result<std::vector<int>> ranks(const JobId& job);

private:
    struct Statements {
        Statement chunks;
        Statement span;
        Statement whole;
        Statement received;
        Statement evaluations;
        Statement quantities;
        Statement newest;
        Statement last_whole;
        Statement last_packed;
        Statement packed_ranks;
        Statement whole_ranks;
    };
    using ByEpoch = std::map<std::int64_t, CurveLine>;

    CurveReader(Statements statements, StepSampler sampler)
        : sql_(std::move(statements)), sampler_(std::move(sampler)) {}

    Result<std::size_t> group_size(const CurveQuery& query, const std::string& quantity);
    Status read_chunks(const CurveQuery& query, const std::string& quantity, ByEpoch& parts);
    Status read_whole(const CurveQuery& query, std::map<std::string, ByEpoch>& lines);
    Status read_evaluations(const CurveQuery& query, std::map<std::string, ByEpoch>& lines);

    Statements sql_;
    StepSampler sampler_;
};

// Joins the lines of attempts, by epoch: a later attempt's replace all steps from its first on.
CurveLine joined(std::map<std::int64_t, CurveLine> parts);

}  // namespace rm
