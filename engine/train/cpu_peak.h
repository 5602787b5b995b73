#pragma once

#include <string>

#include "base/result.h"

namespace rm {

// The rate of matrix products on all cores of this machine: the peak that CPU MFU is stated
// against.
struct MeasuredPeak {
    double flops = 0;  // FLOP/s, fp32
    std::string name;  // "fp32 226 GFLOP/s, measured 2026-01-02"
};

// Measured once per machine and CPU model and kept in `cache_file`; the file is locked, so of
// several processes one measures and the others wait for it.
Result<MeasuredPeak> cached_cpu_peak(const std::string& cache_file);

// $XDG_CACHE_HOME or ~/.cache, /ringmaster/cpu_peak.json.
std::string default_peak_cache();

}  // namespace rm
