#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/device_library.h"
#include "spec/session.h"

// Facts about this machine. A fact that cannot be read is empty or 0.
namespace rm {

// The value of the first line "key <separator> value", without surrounding blanks; empty: no such
// line.
std::string_view value_of(std::string_view text, std::string_view key, char separator);

std::string machine_hostname();
std::string machine_os();                               // "Debian GNU/Linux 12 (bookworm)"
std::string parse_os_release(std::string_view text);    // PRETTY_NAME of /etc/os-release
std::string machine_cpu_model();                        // of the first core
std::string parse_cpu_model(std::string_view cpuinfo);  // of /proc/cpuinfo
int machine_cores();                                    // that this process may use
Bytes machine_memory();
Bytes parse_total_memory(std::string_view meminfo);  // MemTotal of /proc/meminfo
Bytes available_memory();                            // MemAvailable of it
Bytes parse_available_memory(std::string_view meminfo);
// The lowest limit of this process's control group and its ancestors, of either version; 0: none.
Bytes control_group_memory();
// The same for the group that `cgroup` (/proc/self/cgroup) names, below the mount at `root`.
Bytes control_group_memory(std::string_view cgroup, const std::string& root);
// The part of a machine's memory that all ranks together may use: reserves a sixteenth, 512 MiB to
// 4 GiB, for other processes.
Bytes memory_for_ranks(Bytes machine);

// The value of `--devices`: "cpu:N" or "emu:N", 1 to 1024 of them; "cuda:all" or "cuda:0,2".
struct DeviceOffer {
    std::optional<DeviceLibrary> library = {};  // nothing: CPU slots
    int count = 1;                              // 0: all GPUs
    std::vector<int> gpus = {};                 // numbers, as `nvidia-smi` counts
};
Result<DeviceOffer> parse_device_offer(std::string_view text);

// The machine that the slots share.
struct MachineShare {
    int num_slots = 1;  // of all workers on this machine
    int num_cores = 1;
    Bytes memory;  // that ranks may use
    Peak fp32;     // of all cores
    Peak bf16;
};
// Returns the offer's equal slots. Each has its share of memory. A CPU slot also has its share of
// cores, at least one thread, and the peak of its threads. With more slots than cores, the peaks
// add up to more than the machine's: a job on some slots may use every core, and its MFU still
// stays below 1. An emulated device has one thread and no peak.
std::vector<DeviceInfo> slots_of(const DeviceOffer& offer, const MachineShare& share);

// Everything but data_address, http_address and software; of GPUs, no devices.
Inventory take_inventory(const DeviceOffer& offer, const MachineShare& share);

}  // namespace rm
