#pragma once

#include "base/result.h"

// The part of NVML that this project uses, as declared by the nvml.h of CUDA 11.5 and later, with
// names of our own: the build needs no CUDA toolkit, and the library is opened at run time.
namespace rm::nvml {

using Device = struct nvmlDevice_st*;
using EventSet = struct nvmlEventSet_st*;

// nvmlReturn_t
enum Code : int {
    kSuccess = 0,
    kNotSupported = 3,
    kInsufficientSize = 7,
    kTimeout = 10,
    kGpuIsLost = 15,
    kResetRequired = 16,
};
struct PciInfo {
    char short_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};
struct Memory {
    unsigned long long total, free, used;
};
struct Process {
    unsigned pid;
    unsigned long long used_memory;  // kUnknownMemory: the driver does not say
    unsigned gpu_instance, compute_instance;
};
constexpr unsigned long long kUnknownMemory = ~0ULL;
struct Event {
    Device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};
constexpr unsigned long long kXidEvent = 8;
constexpr int kTemperatureOfGpu = 0;
enum EccErrors : int { kCorrected = 0, kUncorrected = 1 };
constexpr int kSinceReset = 0;

struct Api {
    int (*Init)();
    int (*Shutdown)();
    const char* (*ErrorString)(int code);
    int (*SystemGetDriverVersion)(char* text, unsigned size);
    int (*SystemGetCudaDriverVersion)(int* version);  // 13010 is 13.1
    int (*DeviceGetCount)(unsigned* count);
    int (*DeviceGetHandleByIndex)(unsigned index, Device* device);
    int (*DeviceGetName)(Device device, char* text, unsigned size);
    int (*DeviceGetUUID)(Device device, char* text, unsigned size);
    int (*DeviceGetPciInfo)(Device device, PciInfo* info);
    int (*DeviceGetMemoryInfo)(Device device, Memory* memory);
    int (*DeviceGetCudaComputeCapability)(Device device, int* major, int* minor);
    int (*DeviceGetEnforcedPowerLimit)(Device device, unsigned* milliwatts);
    int (*DeviceGetTemperature)(Device device, int sensor, unsigned* celsius);
    int (*DeviceGetPowerUsage)(Device device, unsigned* milliwatts);
    int (*DeviceGetTotalEnergyConsumption)(Device device, unsigned long long* millijoules);
    int (*DeviceGetCurrentClocksThrottleReasons)(Device device, unsigned long long* reasons);
    int (*DeviceGetTotalEccErrors)(Device device, int errors, int since, unsigned long long* count);
    int (*DeviceGetRemappedRows)(Device device, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* is_pending, unsigned* has_failed);
    int (*DeviceGetPcieReplayCounter)(Device device, unsigned* count);
    // `count`: room in `processes`, then how many there are.
    int (*DeviceGetComputeRunningProcesses)(Device device, unsigned* count, Process* processes);
    int (*EventSetCreate)(EventSet* set);
    int (*EventSetFree)(EventSet set);
    int (*DeviceRegisterEvents)(Device device, unsigned long long types, EventSet set);
    int (*EventSetWait)(EventSet set, Event* event, unsigned timeout_milliseconds);
};

// Opens libnvidia-ml.so.1 on the first call; it stays open. `unavailable`: there is no driver, or
// one too old.
Result<const Api*> open();

}  // namespace rm::nvml
