#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/checkpoint/slice.h"
#include "engine/checkpoint/writer.h"
#include "engine/model/rank_streams.h"
#include "engine/model/weight_state.h"
#include "engine/train/train_position.h"
#include "kernels/host_blocks.h"

namespace rm {

// Saves and restores weights, moments and position. Collective: every rank of the mesh calls it at
// the same step, with nothing queued. All ranks return the same outcome.
//
// Saving takes no copy: weights and moments change only in the optimizer's phase, so they are
// written from where they are during the next step's forward and backward, on a stream of their
// own, and the optimizer waits for `written`.
class Checkpointer {
public:
    struct Options {
        std::string dir;  // empty: save does nothing, restore finds nothing
        Epoch epoch;
        int rank = 0;
        int num_ranks = 1;
        int keep = 1;
    };
    Checkpointer(Options options, const RankStreams& streams, WeightState& state, Faults& faults);

    // Ok when every rank's status is; so one full disk stops all alike. A rank that failed gets its
    // own error back, the others one that says how many did.
    Status everyone(const Status& mine, std::string_view what);

    bool enabled() const { return !options_.dir.empty(); }

    // Begins to write the state as it is now, each rank what it owns of it.
    Status begin(const TrainPosition& position, nlohmann::json state);
    bool writing() const { return writing_.has_value(); }
    // Passed when the state may change again.
    const Event& written() const { return *written_; }

    struct Saved {
        std::int64_t step = 0;
        std::string path;    // rank 0
        double seconds = 0;  // that this rank's part took to write
    };
    // After begin: waits for every rank's part; then rank 0 publishes and prunes.
    Result<Saved> finish();

    struct Restored {
        std::string path;
        nlohmann::json state;
        std::vector<std::string> notes;  // rank 0: checkpoints that were passed over
    };
    // The newest checkpoint that verifies, as rank 0 finds it; not_found when there is none.
    Result<Restored> restore();
    // The checkpoint at `path`, of whatever job.
    Result<Restored> restore_from(const std::string& path);

    // Whether rank 0 says so; every rank gets its answer.
    bool as_rank_0_says(bool mine);

private:
    struct Writing {
        CheckpointName name;
        nlohmann::json state;           // rank 0
        std::vector<SliceData> slices;  // of this rank
        Status status;                  // this and the next are set by the stream
        double seconds = 0;
    };
    static void write(Writing& writing, const Options& options, Faults& faults);
    void wait_for_writer();
    Status publish(const Writing& writing, std::string& path);
    void broadcast_from_0(std::span<double> values);
    std::vector<SliceData> my_slices();
    Status load(const std::string& path, Restored& restored);

    Options options_;
    RankStreams streams_;
    WeightState& state_;
    Faults& faults_;
    Tensor agreed_;  // (2) f64
    std::unique_ptr<Event> written_;
    HostBlocks blocks_;  // of the writer while one writes
    std::optional<Writing> writing_;
    std::unique_ptr<Stream> writer_;  // last: it ends before what it uses
};

}  // namespace rm
