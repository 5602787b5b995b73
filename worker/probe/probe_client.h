#pragma once

#include "base/probe.h"

namespace rm {

// Measures the link from here to the server that `probe` names: latency, then a bandwidth sample
// for each number of streams. Takes about the sum of the samples, and a few seconds more at most
// when the other end does not answer; the report says why there is nothing.
ProbeReport probe_link(const RunProbe& probe);

}  // namespace rm
