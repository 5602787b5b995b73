#include "controller/core/check_hello.h"

#include <set>

namespace rm {
namespace {

// N-1; there was no protocol 0.
constexpr std::uint32_t kOldestProtocol = kProtocol > 1 ? kProtocol - 1 : 1;

}  // namespace

Status check_hello(const Hello& hello, const ClusterId& cluster) {
    if (hello.protocol > kProtocol || hello.protocol < kOldestProtocol) {
        const std::string served = kOldestProtocol == kProtocol
                                       ? format("{}", kProtocol)
                                       : format("{} and {}", kOldestProtocol, kProtocol);
        return make_error(
            ErrorCode::failed_precondition,
            "worker {} speaks protocol {}; this controller serves {}. Install the same "
            "version of Ringmaster on both",
            hello.node, hello.protocol, served);
    }
    if (hello.node.empty()) return invalid_argument("the hello has no node id");
    if (!hello.cluster.empty() && hello.cluster != cluster) {
        return make_error(
            ErrorCode::failed_precondition,
            "worker {} belongs to cluster {}, this is {}; to move it, give it an empty "
            "state directory",
            hello.node, hello.cluster, cluster);
    }
    std::set<int> indices;
    for (const DeviceInfo& device : hello.inventory.devices) {
        if (indices.insert(device.index).second) continue;
        return invalid_argument("worker {} lists device {} twice", hello.node, device.index);
    }
    return {};
}

}  // namespace rm
