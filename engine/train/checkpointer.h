#pragma once

#include <string>
#include <vector>

#include "base/fault.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/checkpoint/slice.h"
#include "engine/checkpoint/writer.h"
#include "engine/model/model.h"
#include "engine/train/train_position.h"

namespace rm {

// Saves and restores weights, moments and position. Collective: every rank of the mesh calls it at
// the same step, with nothing queued. All ranks return the same outcome.
class Checkpointer {
public:
    struct Options {
        std::string dir;  // empty: save does nothing, restore finds nothing
        Epoch epoch;
        int rank = 0;
        int num_ranks = 1;
        int keep = 1;
    };
    Checkpointer(Options options, const RankStreams& streams, Weights& weights, Faults& faults);

    // Ok when every rank's status is; so one full disk stops all alike. A rank that failed gets its
    // own error back, the others one that says how many did.
    Status everyone(const Status& mine, std::string_view what);

    bool enabled() const { return !options_.dir.empty(); }

    // Each rank writes an equal part of every tensor; rank 0 publishes and prunes. Returns the
    // path.
    Result<std::string> save(const TrainPosition& position, const nlohmann::json& state);

    struct Restored {
        std::string path;
        nlohmann::json state;
        std::vector<std::string> notes;  // rank 0: checkpoints that were passed over
    };
    // The newest checkpoint that verifies, as rank 0 finds it; not_found when there is none.
    Result<Restored> restore();

private:
    void broadcast_from_0(std::span<double> values);
    std::vector<SliceData> my_slices() const;
    Status load(const std::string& path, Restored& restored);

    Options options_;
    RankStreams streams_;
    Weights& weights_;
    Faults& faults_;
    Tensor agreed_;  // (2) f64
};

}  // namespace rm
