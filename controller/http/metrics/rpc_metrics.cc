#include "controller/http/metrics/rpc_metrics.h"

namespace rm {
namespace {

// "/ringmaster.v1.JobService/Get" is JobService/Get; that of another package keeps its name.
std::string label_of(std::string_view method) {
    constexpr std::string_view kPackage = "/ringmaster.v1.";
    if (method.starts_with(kPackage)) method.remove_prefix(kPackage.size());
    return std::string(method);
}

}  // namespace

RpcMetrics::RpcMetrics()
    : handled_(counter_family(registry_, "ringmaster_rpc_handled_total",
                              "Calls that have ended, refused ones too, by method and code.")),
      duration_(histogram_family(registry_, "ringmaster_rpc_duration_seconds",
                                 "Duration of calls; of streams, from their first to their last "
                                 "message.")) {}

void RpcMetrics::ended(std::string_view method, std::string_view code, Seconds duration) {
    const std::string label = label_of(method);
    handled_.Add({{"method", label}, {"code", std::string(code)}}).Increment();
    duration_.Add({{"method", label}}, duration_buckets()).Observe(duration.value);
}

}  // namespace rm
