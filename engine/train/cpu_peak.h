#pragma once

#include <string>

#include "base/result.h"
#include "kernels/tensor.h"
#include "spec/report.h"

namespace rm {

// The rate of matrix products with this compute type on all cores of this machine: the peak that
// CPU MFU is stated against. Measured once per machine and CPU model and kept in `cache_file`; the
// file is locked, so of several processes one measures and the others wait for it.
Result<Peak> cached_cpu_peak(const std::string& cache_file, DType compute);

// $XDG_CACHE_HOME or ~/.cache, /ringmaster/cpu_peak.json.
std::string default_peak_cache();

}  // namespace rm
