#pragma once

#include "spec/machine/probe.h"

namespace rm {

// Measures the link from here to the server that `probe` names: latency, then a bandwidth sample
// for each number of streams. Takes about the sum of the samples, plus a few seconds at most when
// the other end does not answer; then the report says why it is empty.
ProbeReport probe_link(const RunProbe& probe);

}  // namespace rm
