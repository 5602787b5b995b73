#include "service/gpu/nvml.h"

#include <dlfcn.h>

#include <string>

namespace rm::nvml {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

// Remembers the first function that is missing.
class Functions {
public:
    explicit Functions(void* library) : library_(library) {}

    template <typename Function>
    void find(const char* name, Function*& function) {
        function = reinterpret_cast<Function*>(::dlsym(library_, name));
        if (function == nullptr && missing_.empty()) missing_ = name;
    }
    const std::string& missing() const { return missing_; }

private:
    void* library_;
    std::string missing_;
};

void find_device_functions(Functions& of, Api& api) {
    of.find("nvmlDeviceGetCount_v2", api.DeviceGetCount);
    of.find("nvmlDeviceGetHandleByIndex_v2", api.DeviceGetHandleByIndex);
    of.find("nvmlDeviceGetName", api.DeviceGetName);
    of.find("nvmlDeviceGetUUID", api.DeviceGetUUID);
    of.find("nvmlDeviceGetPciInfo_v3", api.DeviceGetPciInfo);
    of.find("nvmlDeviceGetMemoryInfo", api.DeviceGetMemoryInfo);
    of.find("nvmlDeviceGetCudaComputeCapability", api.DeviceGetCudaComputeCapability);
    of.find("nvmlDeviceGetEnforcedPowerLimit", api.DeviceGetEnforcedPowerLimit);
    of.find("nvmlDeviceGetTemperature", api.DeviceGetTemperature);
    of.find("nvmlDeviceGetPowerUsage", api.DeviceGetPowerUsage);
    of.find("nvmlDeviceGetTotalEnergyConsumption", api.DeviceGetTotalEnergyConsumption);
    of.find("nvmlDeviceGetCurrentClocksThrottleReasons", api.DeviceGetCurrentClocksThrottleReasons);
    of.find("nvmlDeviceGetTotalEccErrors", api.DeviceGetTotalEccErrors);
    of.find("nvmlDeviceGetRemappedRows", api.DeviceGetRemappedRows);
    of.find("nvmlDeviceGetPcieReplayCounter", api.DeviceGetPcieReplayCounter);
    of.find("nvmlDeviceGetComputeRunningProcesses_v3", api.DeviceGetComputeRunningProcesses);
}

Result<Api> load() {
    void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return make_error(ErrorCode::unavailable, "no NVIDIA driver ({} cannot be opened)",
                          kLibrary);
    }
    Api api{};
    Functions of(library);
    of.find("nvmlInit_v2", api.Init);
    of.find("nvmlShutdown", api.Shutdown);
    of.find("nvmlErrorString", api.ErrorString);
    of.find("nvmlSystemGetDriverVersion", api.SystemGetDriverVersion);
    of.find("nvmlSystemGetCudaDriverVersion_v2", api.SystemGetCudaDriverVersion);
    find_device_functions(of, api);
    of.find("nvmlEventSetCreate", api.EventSetCreate);
    of.find("nvmlEventSetFree", api.EventSetFree);
    of.find("nvmlDeviceRegisterEvents", api.DeviceRegisterEvents);
    of.find("nvmlEventSetWait_v2", api.EventSetWait);
    if (of.missing().empty()) return api;
    return make_error(ErrorCode::unavailable,
                      "the NVIDIA driver is too old: its {} has no {}; install 515 or newer",
                      kLibrary, of.missing());
}

}  // namespace

Result<const Api*> open() {
    static const Result<Api> api = load();
    if (!api) return api.error();
    return &*api;
}

}  // namespace rm::nvml
