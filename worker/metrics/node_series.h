#pragma once

#include <string>

#include "base/clock.h"
#include "worker/metrics/series.h"

namespace rm {

// The disk and the memory of a worker's machine, read at each scrape.
class NodeSeries {
public:
    // `directory`: on the disk to look at.
    NodeSeries(prometheus::Registry& registry, const std::string& node, std::string directory);

    void update();
    // When the certificate of this node ends; the series is there from the first call on.
    void set_certificate_expiry(WallTime until);

private:
    prometheus::Registry& registry_;
    const std::string node_;
    const std::string directory_;
    prometheus::Gauge& disk_free_;
    prometheus::Gauge& disk_capacity_;
    prometheus::Gauge& memory_available_;
    prometheus::Gauge& memory_capacity_;
};

}  // namespace rm
