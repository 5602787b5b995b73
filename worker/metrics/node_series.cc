#include "worker/metrics/node_series.h"

#include "base/os/disk_space.h"
#include "worker/inventory/inventory.h"

namespace rm {
namespace {

prometheus::Gauge& gauge_of(prometheus::Registry& registry, const std::string& node,
                            const std::string& name, const std::string& help) {
    return gauge_family(registry, name, help).Add({{"node", node}});
}

void set(prometheus::Gauge& gauge, Bytes bytes) {
    gauge.Set(static_cast<double>(bytes.value));
}

}  // namespace

NodeSeries::NodeSeries(prometheus::Registry& registry, const std::string& node,
                       std::string directory)
    : registry_(registry),
      node_(node),
      directory_(std::move(directory)),
      disk_free_(gauge_of(registry, node, "ringmaster_node_disk_free_bytes",
                          "Free space of the disk with the worker's state and rank logs.")),
      disk_capacity_(gauge_of(registry, node, "ringmaster_node_disk_capacity_bytes",
                              "Size of the disk with the worker's state and rank logs.")),
      memory_available_(gauge_of(registry, node, "ringmaster_node_memory_available_bytes",
                                 "Memory of the machine that programs can still get.")),
      memory_capacity_(gauge_of(registry, node, "ringmaster_node_memory_capacity_bytes",
                                "Memory of the machine.")) {}

void NodeSeries::set_certificate_expiry(WallTime until) {
    gauge_of(registry_, node_, "ringmaster_node_certificate_expiry_timestamp_seconds",
             "When the certificate of this node ends, in seconds since the Unix epoch.")
        .Set(static_cast<double>(until.micros) / 1e6);
}

void NodeSeries::update() {
    if (const auto disk = disk_space(directory_)) {
        set(disk_free_, disk->free);
        set(disk_capacity_, disk->capacity);
    }
    set(memory_available_, available_memory());
    set(memory_capacity_, machine_memory());
}

}  // namespace rm
