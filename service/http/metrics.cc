#include "service/http/metrics.h"

#include <prometheus/text_serializer.h>

namespace rm {

prometheus::Family<prometheus::Gauge>& gauge_family(prometheus::Registry& registry,
                                                    const std::string& name,
                                                    const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Counter>& counter_family(prometheus::Registry& registry,
                                                        const std::string& name,
                                                        const std::string& help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Histogram>& histogram_family(prometheus::Registry& registry,
                                                            const std::string& name,
                                                            const std::string& help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

std::vector<double> duration_buckets() {
    return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
            2,     5,     10,    20,   50,   100,  200, 500, 1000};
}

std::string expose(const prometheus::Registry& registry) {
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

HttpResponse metrics_response(const prometheus::Registry& registry) {
    return {.content_type = "text/plain; version=0.0.4", .body = expose(registry)};
}

}  // namespace rm
