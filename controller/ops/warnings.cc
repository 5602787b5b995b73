#include "controller/ops/warnings.h"

namespace rm {
namespace {

std::set<std::string> kinds_offered(const State& state) {
    std::set<std::string> kinds;
    for (const auto& [id, node] : state.nodes) {
        for (const DeviceInfo& device : node.inventory.devices)
            kinds.insert(device.kind);
    }
    return kinds;
}

}  // namespace

std::vector<std::string> warnings_about(const State& state, const JobSpec& spec) {
    const std::string& kind = spec.resources.kind;
    const std::set<std::string> offered = kinds_offered(state);
    if (kind.empty() || offered.empty() || offered.contains(kind)) return {};
    std::string known;
    for (const std::string& one : offered)
        known += (known.empty() ? "" : ", ") + one;
    return {
        format("resources.kind: no node has ever offered '{}', and the job waits until one "
               "does; the kinds of this cluster: {}",
               kind, known)};
}

}  // namespace rm
