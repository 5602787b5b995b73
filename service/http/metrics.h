#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>
#include <vector>

#include "service/http/http_server.h"

// A thin layer over prometheus-cpp (core only; our own HTTP server serves it). Make families once
// at start and keep references; make children (`family.Add(labels)`) once per label set and keep
// them, because a lookup walks a map. `Family::Remove` is slow: call it at the end of a run, not at
// each step.
namespace rm {

// `name` as in OPERATE.md (base units; counters end in _total); `help` is one sentence.
prometheus::Family<prometheus::Gauge>& gauge_family(prometheus::Registry& registry,
                                                    const std::string& name,
                                                    const std::string& help);
prometheus::Family<prometheus::Counter>& counter_family(prometheus::Registry& registry,
                                                        const std::string& name,
                                                        const std::string& help);
prometheus::Family<prometheus::Histogram>& histogram_family(prometheus::Registry& registry,
                                                            const std::string& name,
                                                            const std::string& help);

// Upper bounds in seconds, three per decade from 1 ms to 1000 s: step times of any job.
std::vector<double> duration_buckets();

// Everything in the registry in the Prometheus text format 0.0.4.
std::string expose(const prometheus::Registry& registry);
HttpResponse metrics_response(const prometheus::Registry& registry);

}  // namespace rm
