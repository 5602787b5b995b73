#include <filesystem>
#include <fstream>

#include "service/gpu/gpus.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

fs::path device_path(const std::string& sysfs, const std::string& pci) {
    return fs::path(sysfs) / "bus/pci/devices" / pci;
}

}  // namespace

int numa_node_of(const std::string& sysfs, const std::string& pci) {
    std::ifstream file(device_path(sysfs, pci) / "numa_node");
    int node = -1;
    file >> node;
    return file ? node : -1;
}

// The kernel links a device to its place in the tree of buses:
// ../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0
std::string host_bridge_of(const std::string& sysfs, const std::string& pci) {
    std::error_code failure;
    const fs::path place = fs::canonical(device_path(sysfs, pci), failure);
    if (failure) return "";
    bool below_root = false;
    for (const fs::path& part : place) {
        if (below_root) return part.string() == pci ? "" : part.string();
        below_root = part.string().starts_with("pci");
    }
    return "";
}

}  // namespace rm
