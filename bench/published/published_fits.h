#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/dry_run/predict.h"

// Contexts that others have published as fitting or not fitting their machines, and the memory that
// a dry run of ours takes with the same strategy. No figure was fitted to them; the tiles of layers
// without any were chosen with them in view (docs/benchmarks/published-fits-2026-11.md).
namespace rm::bench {

// The machines of a publication.
struct FitMachine {
    std::string_view profile;  // of published_profiles()
    Bytes device;              // of each device, for everything
    Bytes node;                // of a node's host
    int node_devices = 8;
    std::string_view node_source;  // where the host's figure is from
};

struct PublishedFit {
    std::string_view by;        // the publication
    std::string_view model;     // its name there
    std::string_view strategy;  // as published
    std::int64_t context = 0;   // of one sequence a step, or for each data rank
    bool fits = false;          // the published verdict
    std::string_view source;    // of the verdict
    // The memory that was short, device or host; empty: it fits, or the publication does not say.
    std::string_view shortage = {};
    // Why our engine has no answer to it, although it prints one; empty: it has.
    std::string_view unjudged = {};
    double peak_gb = 0;  // published, of a device; 0: none
    FitMachine machine;
    // The same strategy, or the nearest, in the engine's terms.
    ModelConfig config;
    Mesh mesh;
    int zero = 3;
    MemoryPolicy memory;
    bool host_state = false;  // master weights, moments and gradients on the host
    StateTypes types = {};

    // A rank's share of its node's, divided among the devices in use there.
    Bytes host_available() const;
};
std::vector<PublishedFit> published_fits();

// Memory that a rank takes.
struct FitNeed {
    Bytes device, host;
};
// By a dry run of the policy as it is: no search. Errors: those of predict.
Result<FitNeed> need_of(const PublishedFit& fit);

enum class Verdict {
    agrees,
    other_reason,  // it does not fit there either, where the other memory is short
    differs,
    not_judged
};
Verdict verdict_of(const PublishedFit& fit, const FitNeed& need);
bool is_within(const PublishedFit& fit, const FitNeed& need);

}  // namespace rm::bench
