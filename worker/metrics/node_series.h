#pragma once

#include <string>

#include "worker/metrics/series.h"

namespace rm {

// The disk and the memory of a worker's machine, read at each scrape.
class NodeSeries {
public:
    // `directory`: on the disk to look at.
    NodeSeries(prometheus::Registry& registry, const std::string& node, std::string directory);

    void update();

private:
    const std::string directory_;
    prometheus::Gauge& disk_free_;
    prometheus::Gauge& disk_capacity_;
    prometheus::Gauge& memory_available_;
    prometheus::Gauge& memory_capacity_;
};

}  // namespace rm
