#pragma once

#include <optional>
#include <string_view>

#include "controller/curves/chunk.h"

namespace rm {

// The quantities of a pb::StepReport as bytes. Rank 0 speaks for the job: its reports give every
// quantity. The others' give what differs between ranks: seconds, waited and device_memory.
std::optional<StepSamples> step_samples(std::string_view report, int rank);

// The unit of a quantity's values: "nats", "seconds", "bytes", "tokens/s"; empty: a ratio.
std::string_view unit_of(std::string_view quantity);

}  // namespace rm
