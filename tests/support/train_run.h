#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/fault.h"
#include "engine/run/run_rank.h"
#include "tests/support/rank_rig.h"

namespace rm::test {

// run_rank on every rank of a mesh, ranks as threads over `local`.
struct TrainRun {
    Result<RankOutcome> outcome = RankOutcome::finished;  // rank 0's
    ConnectedReport connected;                            // rank 0's
    std::vector<StepReport> steps;                        // rank 0's
    std::vector<EvaluationReport> evaluations;
    std::vector<SuiteReport> suites;
    std::vector<std::string> notes;
    std::vector<std::string> alarms;
    std::vector<std::string> checkpoints;
    std::vector<std::pair<int, std::int64_t>> stages_done;
};
TrainRun run_training(RankConfig config, const KernelsFactory& backend, Faults* faults = nullptr,
                      PublishGuard* guard = nullptr);
// The same with separate faults for each rank; null: none.
using FaultsOf = std::function<Faults*(int rank)>;
TrainRun run_training_with(const FaultsOf& faults_of, RankConfig config,
                           const KernelsFactory& backend, PublishGuard* guard = nullptr);

// Steps of two sequences of the micro model over the text files below `data`, byte by byte.
RankConfig micro_run(const std::string& data, std::int64_t context, std::int64_t num_steps);

// Text with structure: sentences of a few words in seeded order.
std::string some_text(std::uint64_t seed, int num_words);

// Every tensor of a checkpoint, moments included, as raw bytes; and its state as text.
std::map<std::string, std::string> checkpoint_bytes(const std::string& path);

}  // namespace rm::test
