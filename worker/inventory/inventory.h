#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/session.h"

// What this machine is: one fact per source file. What cannot be read is empty or 0.
namespace rm {

std::string machine_hostname();
std::string machine_os();                               // "Debian GNU/Linux 12 (bookworm)"
std::string parse_os_release(std::string_view text);    // PRETTY_NAME of /etc/os-release
std::string machine_cpu_model();                        // of the first core
std::string parse_cpu_model(std::string_view cpuinfo);  // of /proc/cpuinfo
int machine_cores();                                    // that this process may use
Bytes machine_memory();
Bytes parse_total_memory(std::string_view meminfo);  // MemTotal of /proc/meminfo

// What `--devices` asks for: "cpu:N", 1 to 1024 slots.
Result<int> parse_cpu_devices(std::string_view text);

// The machine as its slots share it.
struct MachineShare {
    int num_slots = 1;  // of all workers on this machine
    int num_cores = 1;
    Bytes memory;
    Peak fp32;  // of all cores
    Peak bf16;
};
// `num_devices` equal CPU slots: each has its part of cores, memory and peak, at least one thread.
std::vector<DeviceInfo> cpu_devices(int num_devices, const MachineShare& share);

// Everything but data_address and http_address.
Inventory take_inventory(int num_devices, const MachineShare& share);

}  // namespace rm
