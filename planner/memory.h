#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "spec/job_spec.h"

// Whether the state of a model alone - weights, gradients and moments, without anything of a step -
// fits the devices of a cluster: what fails here no placement can hold.
namespace rm {

// Those that a job may use, by their kind. None: nothing is known, and everything fits.
struct UsableDevices {
    Bytes largest;
    int number = 0;
};

// INVALID_ARGUMENT says how much each rank must hold and what would help.
Status check_state_fits(const JobSpec& spec, std::int64_t num_parameters,
                        const UsableDevices& devices);
// The same of a preset. A model.from says its size only where its files are: the submitting side
// looks at them where its machine is that of all workers, and nodes that declare roots tell it
// before anything is placed.
Status check_preset_fits(const JobSpec& spec, const UsableDevices& devices);
// How many parameters fit; 0: any number.
std::int64_t most_parameters(const JobSpec& spec, const UsableDevices& devices);

constexpr const char* kFitsRemedy =
    "use more devices with parallel.zero: 3 or tensor, optimizer.moments: bf16, or a smaller model";

}  // namespace rm
