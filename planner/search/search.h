#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/dry_run/memory_search.h"
#include "planner/search/fleet.h"
#include "planner/search/shardings.h"
#include "spec/job_spec.h"

// Finds how ranks share a job's work and how each uses its memory so that a step takes least: every
// answer is a dry run of the engine's own schedule. Deterministic; measures nothing.
namespace rm {

struct SearchQuestion {
    const JobSpec& spec;  // what it names is kept, what it leaves open is searched
    const ModelConfig& model;
    const FleetSpec& fleet;
    int devices = 0;                // ranks; at most the fleet's
    std::vector<Mesh> meshes = {};  // the only ones to look at; empty: all
    // The devices to use, as many as there are ranks or more. Empty: the fleet's first.
    std::vector<Endpoint> places = {};
    bool in_order = false;  // ranks go to `places` as they are listed
    // The host's memory is that of its devices, as on CPUs: keeping things there makes no room.
    bool is_host_device = false;
    Kernels* like = nullptr;  // asked for workspace sizes; null: the fleet's profile has them

    int most_devices() const {
        return places.empty() ? fleet.num_devices() : static_cast<int>(places.size());
    }
};

struct SearchOptions {
    int ranked = 5;  // plans whose order is asked for
    // Searches the memory of every sharding, whatever its bound says: the tests' proof.
    bool exhaustive = false;
};

// One way to run the job, with a step of its longest stage.
struct RankedPlan {
    Sharding sharding;
    MemoryPolicy memory;
    Prediction prediction;
    std::vector<Endpoint> placement;  // by rank
    std::vector<Seconds> steps;       // of each stage

    // All stages' steps; for a job that only evaluates, as if it trained on what it evaluates.
    Seconds time(const JobSpec& spec) const;
};

// A sharding that is not among them, and why.
struct PassedOver {
    enum class Why { slower, too_large, fails };
    Sharding sharding;
    Why why = Why::slower;
    Seconds at_least;     // slower: of a step
    Bytes device, host;   // too_large: what the least plan takes of each
    MemoryPolicy memory;  // too_large: that plan's
    std::string error;    // fails
};

struct SearchResult {
    std::vector<RankedPlan> ranked;  // the fastest first
    std::vector<PassedOver> passed;  // the nearest first: the fastest, then the smallest
    MemorySpec limits;               // the job's memory, within the fleet's
    std::int64_t shardings = 0;
    std::int64_t searched = 0;     // of them, those whose memory was searched
    std::int64_t predictions = 0;  // steps that were timed, for that and for bounds
};

// The architecture that the job trains; reads the files of model.from and of a tokenizer.
Result<ModelConfig> planned_model(const JobSpec& spec);

// No plan is no error: `ranked` is empty. Errors: invalid_argument where no mesh of so many devices
// suits the job.
Result<SearchResult> search_plans(const SearchQuestion& question, const SearchOptions& options);

// Whether some plan fits, however slow: much faster than a search. Errors as above.
Result<bool> some_plan_fits(const SearchQuestion& question);

// The memory of a plan that takes next to least of each, by mesh.
struct LeanPlan {
    Mesh mesh;
    Bytes device, host;
};
// Errors as above; meshes on which a dry run fails are left out.
Result<std::vector<LeanPlan>> lean_plans(const SearchQuestion& question);

// The job's memory, within the fleet's.
MemorySpec limits_of(const SearchQuestion& question);

}  // namespace rm
