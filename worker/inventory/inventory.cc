#include "worker/inventory/inventory.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "worker/dir/files.h"

namespace rm {

std::string_view value_of(std::string_view text, std::string_view key, char separator) {
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t end = line.find(separator);
        if (end == std::string_view::npos || trimmed(line.substr(0, end)) != key) continue;
        return trimmed(line.substr(end + 1));
    }
    return {};
}

std::string machine_hostname() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string machine_os() {
    const Result<std::string> text = read_text_file("/etc/os-release");
    return text ? parse_os_release(*text) : std::string();
}

std::string parse_os_release(std::string_view text) {
    std::string_view name = value_of(text, "PRETTY_NAME", '=');
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
        name = name.substr(1, name.size() - 2);
    }
    return std::string(name);
}

std::string machine_cpu_model() {
    const Result<std::string> text = read_text_file("/proc/cpuinfo");
    return text ? parse_cpu_model(*text) : std::string();
}

std::string parse_cpu_model(std::string_view cpuinfo) {
    return std::string(value_of(cpuinfo, "model name", ':'));
}

int machine_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    // Fails on machines with more cores than fit a cpu_set_t.
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Inventory take_inventory(const DeviceOffer& offer, const MachineShare& share) {
    return {.hostname = machine_hostname(),
            .os = machine_os(),
            .cpu_model = machine_cpu_model(),
            .num_cores = share.num_cores,
            .memory = share.memory,
            .devices = offer.library == DeviceLibrary::cuda ? std::vector<DeviceInfo>()
                                                            : slots_of(offer, share)};
}

}  // namespace rm
