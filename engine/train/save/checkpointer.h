#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fault.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/directory.h"
#include "engine/checkpoint/slice.h"
#include "engine/checkpoint/writer.h"
#include "engine/model/weight_state.h"
#include "engine/streams/rank_streams.h"
#include "engine/train/save/meeting.h"
#include "engine/train/save/train_position.h"
#include "kernels/host_blocks.h"

namespace rm {

// A disk below this rate counts as hanging.
constexpr double kSlowestDisk = 10e6;  // bytes per second
inline Seconds time_on_disk(Bytes bytes) {
    return {static_cast<double>(bytes.value) / kSlowestDisk};
}

// Saves and restores weights, moments and position. Collective: every rank of the mesh calls it at
// the same step, with nothing queued. All ranks return the same outcome. Work on files is done
// together (Meeting): however long it takes, no collective times out meanwhile.
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
    Checkpointer(Options options, const RankStreams& streams, Meeting& meeting, WeightState& state,
                 Faults& faults);

    bool enabled() const { return !options_.dir.empty(); }

    // Begins to write the present state; each rank writes its own part.
    Status begin(const TrainPosition& position, nlohmann::json state);
    bool writing() const { return writing_.has_value(); }
    // The writer's stream passes it when the state may change again.
    const Event& written() const { return *written_; }

    // The bytes that this rank writes of a checkpoint.
    Bytes own_bytes();

    struct Saved {
        std::int64_t step = 0;
        std::string path;     // rank 0
        double seconds = 0;   // that this rank's part took to write
        std::string trouble;  // rank 0: what could not be removed; empty: nothing
    };
    // After begin: waits for every rank's part; then rank 0 completes the state with facts that
    // take long to compute (`complete`), publishes and prunes. After an error, removes what was
    // written of the checkpoint; a later one may begin.
    using Complete = std::function<Status(nlohmann::json& state, Activity& activity)>;
    Result<Saved> finish(const Complete& complete);
    // Instead of finish: waits for every rank's part and removes what was written. The checkpoints
    // before it stay as they are.
    Status abandon();

    struct Restored {
        std::string path;
        nlohmann::json state;
        std::vector<std::string> notes;        // checkpoints that were passed over
        std::vector<std::string> troubles;     // rank 0: what could not be removed
        std::vector<std::int64_t> bytes_read;  // by rank: each verifies what it reads
        double seconds = 0;
    };
    // Loads the newest checkpoint whose parts verify on every rank that reads them, then removes
    // leftovers of older attempts. not_found: there is no checkpoint.
    Result<Restored> restore();
    // Loads the checkpoint at `path`, of any job; if `path` is a directory of checkpoints, the
    // newest, chosen as in restore(). Changes nothing there.
    Result<Restored> restore_from(const std::string& path);

private:
    struct Writing {
        CheckpointName name;
        nlohmann::json state;           // rank 0
        std::vector<SliceData> slices;  // of this rank
        Status status;                  // this and the next are set by the stream
        double seconds = 0;
        std::unique_ptr<Activity> activity = std::make_unique<Activity>();
    };
    static void write(Writing& writing, const Options& options, Faults& faults);
    void wait_for_writer();
    Status publish(Writing& writing, const Complete& complete, Saved& saved, Activity& activity);
    // Removes the files of an unpublished checkpoint.
    Status remove(std::string_view what, const CheckpointName& name);
    Error discard(const CheckpointName& name, Error why);
    std::string prune(Activity& activity);
    std::vector<SliceData> my_slices();
    struct Found {
        Restored restored;
        CheckpointName name;
        std::set<CheckpointName> bad;  // those passed over
    };
    Result<DirectoryListing> list(const std::string& dir);
    std::optional<CheckpointName> agreed_name(const DirectoryListing& listing, std::size_t index);
    Meeting::Verdict try_load(const std::string& dir, const CheckpointName& name,
                              Restored& restored);
    Result<Found> load_newest(const std::string& dir);
    Result<Restored> load_one(const std::string& path);
    Status load(const Checkpoint& checkpoint, Restored& restored, Activity& activity);
    void tidy(Restored& restored);
    void count_bytes(Restored& restored, const Stopwatch& watch);

    Options options_;
    RankStreams streams_;
    Meeting& meeting_;
    WeightState& state_;
    Faults& faults_;
    KnownCheckpoints known_;
    std::int64_t bytes_read_ = 0;  // of the load under way
    std::unique_ptr<Event> written_;
    HostBlocks blocks_;  // of the writer while one writes
    std::optional<Writing> writing_;
    std::unique_ptr<Stream> writer_;  // last: it ends before what it uses
};

}  // namespace rm
