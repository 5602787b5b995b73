#pragma once

#include <optional>

#include "spec/job_spec.h"

namespace rm {

// The mesh of a job on this many free devices; nullopt: too few.
Result<std::optional<Mesh>> mesh_for(const JobSpec& spec, int num_free);

// The mesh that `auto` stands for on exactly `num_devices` devices: the longest ring that fits
// every stage, the rest on `data`. The error says why none fits.
Result<Mesh> auto_mesh(const JobSpec& spec, int num_devices);

}  // namespace rm
