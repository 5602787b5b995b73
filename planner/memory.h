#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "spec/job_spec.h"

// Checks whether the state of a model alone (weights, gradients and moments, but no activations)
// fits the devices of a cluster: no placement can hold a model that fails here.
namespace rm {

// The devices of the kinds that a job may use. 0 bytes: nothing is known, and everything fits.
struct UsableDevices {
    Bytes largest;
    int number = 0;
};

// INVALID_ARGUMENT names the bytes that each rank must hold and a remedy.
Status check_state_fits(const JobSpec& spec, std::int64_t num_parameters,
                        const UsableDevices& devices);
// The same for a preset. The size of a model.from is known only where its files are: the submitting
// side reads them if all workers run on its machine, and nodes that declare roots report the size
// before anything is placed.
Status check_preset_fits(const JobSpec& spec, const UsableDevices& devices);
// The number of parameters that fit; 0: no limit.
std::int64_t most_parameters(const JobSpec& spec, const UsableDevices& devices);

constexpr const char* kFitsRemedy =
    "use more devices with parallel.zero: 3 or tensor, optimizer.moments or optimizer.gradients: "
    "bf16, or a smaller model";

}  // namespace rm
