#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "engine/comm/communicator.h"

namespace rm {

enum class Phase : std::uint32_t {
    starting,
    data,
    forward,
    backward,
    reduce,
    optimizer,
    checkpoint,
    evaluation,
    done,
    loading,    // weights or a checkpoint: as long as disks take
    exporting,  // the trained model
};
std::string_view to_string(Phase phase);
// Whether the phase is a part of a step, in which the pauses between signs of life are alike from
// step to step. Pauses of other phases depend on disks and on the amount of text.
bool is_of_a_step(Phase phase);

// A rank's present work, in shared memory that outlives it: the shim maps one page per rank, the
// worker reads it at any time. Lock-free atomics only, no pointers; zero-filled memory is a valid
// start. `version` guards the layout across builds.
struct ProgressPage {
    static constexpr std::uint32_t kVersion = 4;

    std::atomic<std::uint32_t> version;
    std::atomic<Phase> phase;
    std::atomic<std::int64_t> step;  // the step being worked on
    CommProgress collectives;        // names: comm_name (engine/comm/communicator.h)
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(sizeof(ProgressPage) <= 4096);

}  // namespace rm
