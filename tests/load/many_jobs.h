#pragma once

#include <string>

namespace rm::load {

// Writes control.db of a state directory with `count` jobs, of which the last `pending` wait and
// the others were cancelled: by the controller's own core and store, as if they had been submitted.
void store_jobs(const std::string& state_dir, int count, int pending);

}  // namespace rm::load
