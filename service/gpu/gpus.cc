#include "service/gpu/gpus.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "base/text.h"
#include "service/gpu/nvml.h"

namespace rm {
namespace {

struct ThrottleReason {
    unsigned long long bit;
    const char* name;
};
// nvmlClocksEventReason...; idle and deliberate settings are no throttling.
constexpr std::array kThrottleReasons = {
    ThrottleReason{0x04, "power_cap"},   ThrottleReason{0x08, "hw_slowdown"},
    ThrottleReason{0x20, "sw_thermal"},  ThrottleReason{0x40, "hw_thermal"},
    ThrottleReason{0x80, "power_brake"},
};

std::vector<std::string> throttle_names(unsigned long long bits) {
    std::vector<std::string> names;
    for (const auto& [bit, name] : kThrottleReasons) {
        if ((bits & bit) != 0) names.emplace_back(name);
    }
    return names;
}

// "00000000:41:00.0" is "0000:41:00.0" to the kernel.
std::string kernel_address(std::string_view address) {
    std::string text(address);
    if (text.size() == 16) text.erase(0, 4);
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::string process_name(unsigned pid) {
    std::ifstream file(format("/proc/{}/comm", pid));
    std::string name;
    std::getline(file, name);
    return name;
}

GpuProcess process_of(const nvml::Process& process) {
    const bool known = process.used_memory != nvml::kUnknownMemory;
    return {.pid = static_cast<int>(process.pid),
            .name = process_name(process.pid),
            .memory = {known ? static_cast<std::int64_t>(process.used_memory) : 0}};
}

// One value of a device; 0 where the driver does not know it. Notes that the device is lost.
class Reader {
public:
    Reader(nvml::Device device, GpuState& state) : device_(device), state_(state) {}

    template <typename T, typename Function, typename... Args>
    T get(Function* function, Args... args) {
        T value{};
        take(function(device_, args..., &value));
        return value;
    }
    void take(int code) {
        state_.lost = state_.lost || code == nvml::kGpuIsLost;
        state_.reset_required = state_.reset_required || code == nvml::kResetRequired;
    }

private:
    nvml::Device device_;
    GpuState& state_;
};

class NvmlGpus final : public Gpus {
public:
    NvmlGpus(const nvml::Api& api, std::string sysfs) : api_(api), sysfs_(std::move(sysfs)) {
        unsigned count = 0;
        api_.DeviceGetCount(&count);
        const bool events = api_.EventSetCreate(&events_) == nvml::kSuccess;
        for (unsigned i = 0; i < count; ++i) {
            nvml::Device device = nullptr;
            // A lost device has no handle; its place stays.
            if (api_.DeviceGetHandleByIndex(i, &device) != nvml::kSuccess) device = nullptr;
            devices_.push_back(device);
            if (events && device != nullptr)
                api_.DeviceRegisterEvents(device, nvml::kXidEvent, events_);
        }
    }
    NvmlGpus(const NvmlGpus&) = delete;
    NvmlGpus& operator=(const NvmlGpus&) = delete;
    ~NvmlGpus() override {
        if (events_ != nullptr) api_.EventSetFree(events_);
        api_.Shutdown();
    }

    GpuSoftware software() const override {
        std::array<char, 96> text{};
        int cuda = 0;
        api_.SystemGetDriverVersion(text.data(), text.size());
        api_.SystemGetCudaDriverVersion(&cuda);
        return {.driver = text.data(),
                .cuda = cuda > 0 ? format("{}.{}", cuda / 1000, cuda % 1000 / 10) : ""};
    }

    std::vector<Gpu> list() const override {
        std::vector<Gpu> gpus;
        for (std::size_t i = 0; i < devices_.size(); ++i)
            gpus.push_back(read(static_cast<int>(i), devices_[i]));
        return gpus;
    }

    GpuState state(int index) const override {
        GpuState state;
        const nvml::Device device = devices_.at(usize(index));
        state.lost = device == nullptr;
        if (state.lost) return state;
        Reader reader(device, state);
        state.used = {
            static_cast<std::int64_t>(reader.get<nvml::Memory>(api_.DeviceGetMemoryInfo).used)};
        state.temperature_celsius = static_cast<int>(
            reader.get<unsigned>(api_.DeviceGetTemperature, nvml::kTemperatureOfGpu));
        state.watts = reader.get<unsigned>(api_.DeviceGetPowerUsage) * 1e-3;
        state.joules = static_cast<double>(
                           reader.get<unsigned long long>(api_.DeviceGetTotalEnergyConsumption)) *
                       1e-3;
        state.throttled = throttle_names(
            reader.get<unsigned long long>(api_.DeviceGetCurrentClocksThrottleReasons));
        state.pcie_replays = reader.get<unsigned>(api_.DeviceGetPcieReplayCounter);
        read_errors(reader, device, state);
        state.processes = processes_on(device);
        return state;
    }

    std::vector<GpuXid> take_xids() override {
        std::vector<GpuXid> xids;
        nvml::Event event{};
        while (events_ != nullptr && api_.EventSetWait(events_, &event, 0) == nvml::kSuccess) {
            const auto found = std::find(devices_.begin(), devices_.end(), event.device);
            if (event.type != nvml::kXidEvent || found == devices_.end()) continue;
            xids.push_back(
                {static_cast<int>(found - devices_.begin()), static_cast<int>(event.data)});
        }
        return xids;
    }

private:
    Gpu read(int index, nvml::Device device) const {
        Gpu gpu{.index = index};
        if (device == nullptr) return gpu;
        std::array<char, 96> name{};
        std::array<char, 96> uuid{};
        nvml::PciInfo pci{};
        nvml::Memory memory{};
        int major = 0;
        int minor = 0;
        unsigned milliwatts = 0;
        api_.DeviceGetName(device, name.data(), name.size());
        api_.DeviceGetUUID(device, uuid.data(), uuid.size());
        api_.DeviceGetPciInfo(device, &pci);
        api_.DeviceGetMemoryInfo(device, &memory);
        api_.DeviceGetCudaComputeCapability(device, &major, &minor);
        api_.DeviceGetEnforcedPowerLimit(device, &milliwatts);
        gpu.memory = {static_cast<std::int64_t>(memory.total)};
        gpu.facts = {.uuid = uuid.data(),
                     .product = name.data(),
                     .pci = kernel_address(pci.address),
                     .compute = format("{}.{}", major, minor),
                     .power_limit_watts = static_cast<int>(milliwatts / 1000)};
        gpu.facts.numa_node = numa_node_of(sysfs_, gpu.facts.pci);
        gpu.facts.bridge = host_bridge_of(sysfs_, gpu.facts.pci);
        return gpu;
    }

    void read_errors(Reader& reader, nvml::Device device, GpuState& state) const {
        const auto errors = [&](int kind) {
            return static_cast<std::int64_t>(reader.get<unsigned long long>(
                api_.DeviceGetTotalEccErrors, kind, nvml::kSinceReset));
        };
        state.corrected_errors = errors(nvml::kCorrected);
        state.uncorrected_errors = errors(nvml::kUncorrected);
        unsigned corrected = 0;
        unsigned uncorrected = 0;
        unsigned pending = 0;
        unsigned failed = 0;
        reader.take(
            api_.DeviceGetRemappedRows(device, &corrected, &uncorrected, &pending, &failed));
        state.remap_pending = pending != 0;
        state.remap_failed = failed != 0;
    }

    std::vector<GpuProcess> processes_on(nvml::Device device) const {
        constexpr unsigned kUsual = 64;
        std::vector<nvml::Process> found(kUsual);
        int code = nvml::kInsufficientSize;
        for (int tries = 0; tries < 4 && code == nvml::kInsufficientSize; ++tries) {
            auto count = static_cast<unsigned>(found.size());
            code = api_.DeviceGetComputeRunningProcesses(device, &count, found.data());
            // Others may start before the next call.
            found.resize(code == nvml::kInsufficientSize ? usize(count) + kUsual : usize(count));
        }
        if (code != nvml::kSuccess) return {};
        std::vector<GpuProcess> processes;
        for (const nvml::Process& process : found)
            processes.push_back(process_of(process));
        return processes;
    }

    const nvml::Api& api_;
    const std::string sysfs_;
    std::vector<nvml::Device> devices_;  // null: it is lost
    nvml::EventSet events_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Gpus>> open_gpus(const std::string& sysfs) {
    RM_TRY(const nvml::Api* const api, nvml::open());
    if (const int code = api->Init(); code != nvml::kSuccess) {
        return make_error(ErrorCode::unavailable, "the NVIDIA driver does not start: {}",
                          api->ErrorString(code));
    }
    return std::unique_ptr<Gpus>(std::make_unique<NvmlGpus>(*api, sysfs));
}

std::string gpu_kind(const std::string& product) {
    constexpr std::string_view kMaker = "NVIDIA ";
    std::string kind = product.substr(product.starts_with(kMaker) ? kMaker.size() : 0);
    std::replace(kind.begin(), kind.end(), ' ', '-');
    return kind;
}

}  // namespace rm
