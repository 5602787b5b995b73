// A library with NVML's names for machines without GPUs. It shows the machine that a file
// describes; the product cannot tell it from NVML.
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "tests/standins/nvml/machine.h"

#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace standin {
namespace {

enum Code {
    kSuccess = 0,
    kInvalidArgument = 2,
    kNotSupported = 3,
    kInsufficientSize = 7,
    kTimeout = 10,
    kGpuIsLost = 15
};
constexpr double kMiB = 1 << 20;

// Handles count from 1.
std::size_t index_of(const void* device) {
    return reinterpret_cast<std::uintptr_t>(device) - 1;
}
void* handle_of(std::size_t index) {
    return reinterpret_cast<void*>(index + 1);
}

int copy(const std::string& from, char* text, unsigned size) {
    if (from.size() >= size) return kInsufficientSize;
    std::memcpy(text, from.c_str(), from.size() + 1);
    return kSuccess;
}

// Calls `read` with the GPU, unless it is lost or lacks the key.
template <typename Read>
int with_gpu(const void* device, const char* key, const Read& read) {
    const nlohmann::json gpu = Machine::instance().gpu(index_of(device));
    if (gpu.is_null()) return kInvalidArgument;
    if (gpu.value("lost", false)) return kGpuIsLost;
    if (!gpu.contains(key)) return kNotSupported;
    read(gpu);
    return kSuccess;
}

template <typename T>
int number(const void* device, const char* key, T* value, double unit = 1) {
    return with_gpu(device, key, [&](const nlohmann::json& gpu) {
        *value = static_cast<T>(gpu.at(key).get<double>() * unit);
    });
}

int text(const void* device, const char* key, char* into, unsigned size) {
    int code = kSuccess;
    const int found = with_gpu(device, key, [&](const nlohmann::json& gpu) {
        code = copy(gpu.at(key).get<std::string>(), into, size);
    });
    return found != kSuccess ? found : code;
}

// How many Xids of each GPU have been reported. One event set in a process.
struct Events {
    std::mutex mutex;
    std::map<std::size_t, std::size_t> reported;  // by GPU that is registered
};
Events events;

struct Event {
    void* device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

bool take_event(Event& event) {
    const std::lock_guard lock(events.mutex);
    for (auto& [index, reported] : events.reported) {
        const nlohmann::json gpu = Machine::instance().gpu(index);
        const nlohmann::json xids =
            gpu.is_null() ? nlohmann::json::array() : gpu.value("xids", nlohmann::json::array());
        if (reported >= xids.size()) continue;
        event = {handle_of(index), 8, xids[reported++].get<unsigned long long>(), ~0U, ~0U};
        return true;
    }
    return false;
}

struct Pci {
    char short_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};
struct Memory {
    unsigned long long total, free, used;
};
struct Process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

}  // namespace
}  // namespace standin

using namespace standin;

STANDIN_EXPORT int nvmlInit_v2() {
    return Machine::instance().file().value("init", 0);
}
STANDIN_EXPORT int nvmlShutdown() {
    return kSuccess;
}
STANDIN_EXPORT const char* nvmlErrorString(int code) {
    switch (code) {
        case kSuccess:
            return "The operation was successful";
        case kNotSupported:
            return "Not Supported";
        case 9:
            return "Driver Not Loaded";
        case kGpuIsLost:
            return "GPU is lost";
        case 18:
            return "Driver/library version mismatch";
        default:
            return "Unknown Error";
    }
}
STANDIN_EXPORT int nvmlSystemGetDriverVersion(char* into, unsigned size) {
    return copy(Machine::instance().file().value("driver", "570.86.10"), into, size);
}
STANDIN_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    *version = Machine::instance().file().value("cuda", 12080);
    return kSuccess;
}
STANDIN_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
    const auto machine = Machine::instance().file();
    *count = machine.contains("gpus") ? static_cast<unsigned>(machine["gpus"].size()) : 0;
    return kSuccess;
}
STANDIN_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (Machine::instance().gpu(index).is_null()) return kInvalidArgument;
    *device = handle_of(index);
    return kSuccess;
}
STANDIN_EXPORT int nvmlDeviceGetName(void* device, char* into, unsigned size) {
    return text(device, "name", into, size);
}
STANDIN_EXPORT int nvmlDeviceGetUUID(void* device, char* into, unsigned size) {
    return text(device, "uuid", into, size);
}
STANDIN_EXPORT int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
    *pci = {};
    return text(device, "pci", pci->address, sizeof pci->address);
}
STANDIN_EXPORT int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    return with_gpu(device, "memory_mib", [&](const nlohmann::json& gpu) {
        memory->total = static_cast<unsigned long long>(gpu.at("memory_mib").get<double>() * kMiB);
        memory->used = static_cast<unsigned long long>(gpu.value("used_mib", 0.0) * kMiB);
        memory->free = memory->total - memory->used;
    });
}
STANDIN_EXPORT int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    return with_gpu(device, "compute", [&](const nlohmann::json& gpu) {
        *major = gpu.at("compute")[0];
        *minor = gpu.at("compute")[1];
    });
}
STANDIN_EXPORT int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
    return number(device, "power_limit_w", milliwatts, 1000);
}
STANDIN_EXPORT int nvmlDeviceGetTemperature(void* device, int /*sensor*/, unsigned* celsius) {
    return number(device, "temperature", celsius);
}
STANDIN_EXPORT int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    return number(device, "power_w", milliwatts, 1000);
}
STANDIN_EXPORT int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* mj) {
    return number(device, "joules", mj, 1000);
}
STANDIN_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void* device,
                                                             unsigned long long* reasons) {
    return number(device, "throttle", reasons);
}
STANDIN_EXPORT int nvmlDeviceGetTotalEccErrors(void* device, int kind, int /*since*/,
                                               unsigned long long* count) {
    return number(device, kind == 0 ? "corrected" : "uncorrected", count);
}
STANDIN_EXPORT int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected,
                                             unsigned* uncorrected, unsigned* pending,
                                             unsigned* failed) {
    return with_gpu(device, "remap_pending", [&](const nlohmann::json& gpu) {
        *corrected = 0;
        *uncorrected = 0;
        *pending = gpu.at("remap_pending").get<bool>() ? 1 : 0;
        *failed = gpu.value("remap_failed", false) ? 1 : 0;
    });
}
STANDIN_EXPORT int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* count) {
    return number(device, "replays", count);
}
STANDIN_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                                           Process* processes) {
    const unsigned room = *count;
    *count = 0;
    const int code = with_gpu(device, "processes", [&](const nlohmann::json& gpu) {
        for (const auto& process : gpu.at("processes")) {
            if (*count < room)
                processes[*count] = {process.at("pid").get<unsigned>(),
                                     process.contains("memory_mib")
                                         ? static_cast<unsigned long long>(
                                               process.at("memory_mib").get<double>() * kMiB)
                                         : ~0ULL,
                                     ~0U, ~0U};
            ++*count;
        }
    });
    if (code == kSuccess && *count > room) return kInsufficientSize;
    return code == kNotSupported ? static_cast<int>(kSuccess) : code;
}
STANDIN_EXPORT int nvmlEventSetCreate(void** set) {
    *set = &events;
    return kSuccess;
}
STANDIN_EXPORT int nvmlEventSetFree(void* /*set*/) {
    return kSuccess;
}
STANDIN_EXPORT int nvmlDeviceRegisterEvents(void* device, unsigned long long /*types*/,
                                            void* /*set*/) {
    const std::lock_guard lock(events.mutex);
    events.reported.try_emplace(index_of(device), 0);
    return kSuccess;
}
STANDIN_EXPORT int nvmlEventSetWait_v2(void* /*set*/, Event* event, unsigned /*milliseconds*/) {
    return take_event(*event) ? kSuccess : kTimeout;
}
