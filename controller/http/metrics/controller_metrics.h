#pragma once

#include <string>

#include "controller/core/goodput/goodput_book.h"
#include "controller/http/metrics/fleet_metrics.h"
#include "controller/http/metrics/rpc_metrics.h"
#include "controller/loops/survey_loop.h"
#include "controller/ops/context.h"

namespace rm {

// The sources of the controller's /metrics; the scrape borrows them.
struct MetricSources {
    OpsContext& ops;
    const SurveyLoop& surveys;
    FleetMetrics& fleet;
    const RpcMetrics& rpcs;
    const GoodputBook& goodput;
};

// Everything that the controller exports (OPERATE.md, "Metrics"), in the Prometheus text format.
std::string controller_metrics(const MetricSources& from);

}  // namespace rm
