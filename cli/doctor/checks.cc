#include "cli/doctor/checks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/words.h"

namespace rm {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr Bytes kLeastDisk{kGiB};      // a controller that cannot write its tables stops
constexpr Bytes kGoodDisk{20 * kGiB};  // logs and a few checkpoints of small models
constexpr Seconds kSkewNoticed{1};     // ages and queue times look wrong
constexpr Seconds kSkewHarmful{60};    // certificates and --since go wrong
constexpr std::uint64_t kLeastFiles = 1024;
// A socket per peer and axis, per session and caller; parts of checkpoints.
constexpr std::uint64_t kGoodFiles = 10'000;
constexpr std::uint64_t kGoodLock = std::uint64_t{1} << 30;
constexpr int kGoodPorts = 32;

std::string limit_text(std::uint64_t limit) {
    return limit == kUnlimited ? "unlimited" : format("{}", limit);
}
std::string bytes_limit_text(std::uint64_t limit) {
    return limit == kUnlimited ? "unlimited" : to_string(Bytes{static_cast<std::int64_t>(limit)});
}

std::string cuda_text(int version) {
    return format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string nccl_text(int version) {
    if (version == 0) return "of unknown version";
    return format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string driver_text(const DriverFacts& driver) {
    const std::string serves = format("serves CUDA {}", cuda_text(driver.cuda));
    return driver.version.empty() ? serves : format("{}, {}", driver.version, serves);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok:
            return "ok";
        case Verdict::warn:
            return "warn";
        case Verdict::fail:
            return "fail";
    }
    return "?";
}

Check check_programs(const std::vector<std::string>& missing) {
    if (missing.empty()) {
        return {"programs", Verdict::ok, "controller, worker and ring-train are beside this one",
                ""};
    }
    return {"programs", Verdict::warn, format("not beside this program: {}", join(missing)),
            "`ringmaster up` and a worker of this machine need them; build or copy all programs to "
            "one place"};
}

Check check_driver(const DriverFacts& driver) {
    const std::string name = "driver";
    if (!driver.present) {
        return {name, Verdict::warn,
                "no NVIDIA driver (libcuda.so.1): this machine has CPU devices",
                "install one if it has GPUs"};
    }
    if (!driver.error.empty()) {
        return {name, Verdict::fail, format("the NVIDIA driver does not start: {}", driver.error),
                "load its module (`nvidia-smi` says more), or restart after an upgrade"};
    }
    if (driver.devices.empty()) {
        return {name, Verdict::warn, driver_text(driver) + ", but shows no device",
                "look at CUDA_VISIBLE_DEVICES and `nvidia-smi`"};
    }
    return {
        name, Verdict::ok,
        format("{}, {} x {}", driver_text(driver), driver.devices.size(), driver.devices.front()),
        ""};
}

Check check_gpus(const std::vector<GpuCondition>& gpus) {
    const std::string name = "gpus";
    if (gpus.empty()) return {name, Verdict::ok, "none", ""};
    std::string unfit;
    for (const GpuCondition& gpu : gpus) {
        if (gpu.unfit.empty()) continue;
        unfit += format("{}GPU {}: {}", unfit.empty() ? "" : ", ", gpu.index, gpu.unfit);
    }
    const std::string all = format("{} x {}", gpus.size(), gpus.front().product);
    if (unfit.empty()) return {name, Verdict::ok, all, ""};
    return {name, Verdict::warn, format("{}; {}", all, unfit),
            "no job is placed there until its cause is gone"};
}

Check check_cuda_runtime(const VersionFacts& runtime, const DriverFacts& driver) {
    const std::string name = "cuda";
    const bool gpus = !driver.devices.empty();
    if (runtime.library.empty()) {
        return {name, Verdict::warn, "no CUDA runtime (libcudart.so)",
                gpus ? "install a CUDA runtime that the driver serves" : "only needed for GPUs"};
    }
    const std::string text = format("{} is CUDA {}", runtime.library, cuda_text(runtime.version));
    if (driver.cuda > 0 && runtime.version / 1000 > driver.cuda / 1000) {
        return {name, Verdict::fail,
                format("{}, the driver serves {}", text, cuda_text(driver.cuda)),
                "a newer driver, or a build with an older CUDA"};
    }
    return {name, Verdict::ok, text, ""};
}

Check check_nccl(const VersionFacts& nccl) {
    const std::string name = "nccl";
    if (nccl.library.empty()) {
        return {name, Verdict::ok, "no NCCL (libnccl.so.2): ranks on GPUs talk over gloo", ""};
    }
    return {name, Verdict::ok, format("{} is NCCL {}", nccl.library, nccl_text(nccl.version)), ""};
}

Check check_cuda_library(const CudaLibraryFacts& library, const DriverFacts& driver) {
    const std::string name = "cuda library";
    const Verdict missing = driver.devices.empty() ? Verdict::warn : Verdict::fail;
    if (library.path.empty()) {
        return {name, missing, "librm_cuda.so is not beside this program",
                driver.devices.empty()
                    ? "only needed for GPUs"
                    : "build with the `cuda` preset: without it, GPUs stay idle"};
    }
    if (!library.error.empty()) {
        return {name, missing, format("cannot open {}: {}", library.path, library.error),
                "the library and the programs must be of one build"};
    }
    return {name, Verdict::ok, library.path, ""};
}

Check check_port(const PortFacts& port) {
    const std::string name = format("port {}", port.port);
    switch (port.use) {
        case PortUse::free:
            return {name, Verdict::ok, format("free ({})", port.purpose), ""};
        case PortUse::served:
            return {name, Verdict::ok, format("served ({})", port.purpose), ""};
        case PortUse::blocked:
            break;
    }
    return {name, Verdict::warn,
            format("taken by a process that does not answer ({})", port.purpose),
            format("`ss -ltnp sport = :{}` shows which process", port.port)};
}

Check check_data_ports(int first, int last, int num_free) {
    const std::string name = format("ports {}-{}", first, last);
    const std::string text =
        format("{} of {} are free (ranks and probes)", num_free, last - first + 1);
    if (num_free >= kGoodPorts) return {name, Verdict::ok, text, ""};
    return {name, num_free == 0 ? Verdict::fail : Verdict::warn, text,
            "ranks and probes listen there: stop what holds them"};
}

Check check_controller(const ControllerFacts& controller) {
    const std::string name = "controller";
    if (controller.error) {
        return {name, controller.named ? Verdict::fail : Verdict::warn, controller.error->message,
                controller.named
                    ? "start it, or name another with --address or --context"
                    : "`ringmaster up` starts a local cluster; --address names another"};
    }
    std::string text = format("{} answers in {}; {}", controller.address,
                              to_string(controller.round_trip), counted(controller.nodes, "node"));
    if (controller.without_session > 0) {
        text += format(", {} without a session", controller.without_session);
    }
    if (controller.drained > 0) text += format(", {} drained", controller.drained);
    if (controller.unfit > 0) {
        return {name, Verdict::warn,
                text + format(", {} unfit", counted(controller.unfit, "device")),
                "`ringmaster nodes` says which and why"};
    }
    if (controller.builds > 1) {
        return {name, Verdict::warn, text + format(", of {} builds", controller.builds),
                "an attempt uses nodes of one build only: bring all workers to the same"};
    }
    return {name, controller.without_session > 0 ? Verdict::warn : Verdict::ok, text,
            controller.without_session > 0
                ? "`ringmaster nodes` names them; look at their workers' logs"
                : ""};
}

Check check_telemetry(const ControllerFacts& controller) {
    const std::string name = "telemetry";
    if (controller.error) return {name, Verdict::warn, "unknown: no controller answers", ""};
    if (controller.telemetry_dropped == 0) return {name, Verdict::ok, "no reports refused", ""};
    return {name, Verdict::warn,
            format("the controller has refused step reports and log pieces {} since it "
                   "started; their workers keep them",
                   counted(controller.telemetry_dropped, "time")),
            "its disk is or was short of space: free some in its state directory"};
}

Check check_clock(const ControllerFacts& controller) {
    const std::string name = "clock";
    if (controller.error || !controller.skew) {
        return {name, Verdict::warn, "not compared: no node has a session with a controller",
                "run it again beside a cluster that is up"};
    }
    const double skew = controller.skew->value;
    // The controller read its clock at an unknown moment within the round trip.
    const double sure = std::max(0.0, std::abs(skew) - controller.round_trip.value);
    const std::string text = format("{} {} the controller's", to_string(Seconds{std::abs(skew)}),
                                    skew > 0 ? "behind" : "ahead of");
    if (sure <= kSkewNoticed.value) return {name, Verdict::ok, text, ""};
    return {name, sure > kSkewHarmful.value ? Verdict::fail : Verdict::warn, text,
            "let chrony or systemd-timesyncd set it on both machines"};
}

Check check_disk(const DiskFacts& disk) {
    const std::string name = "disk";
    const std::string text =
        format("{} of {} free for {}", to_string(disk.free), to_string(disk.total), disk.path);
    if (!disk.writable) {
        return {name, Verdict::fail, format("{} cannot be written", disk.measured),
                "change its owner, or name another directory with --state"};
    }
    if (disk.free < kLeastDisk) {
        return {name, Verdict::fail, text,
                format("the controller's tables need room: at least {}", to_string(kLeastDisk))};
    }
    if (disk.free < kGoodDisk) {
        return {name, Verdict::warn, text,
                "checkpoints fill it soon: set checkpoint.dir to a larger disk"};
    }
    return {name, Verdict::ok, text, ""};
}

Check check_memory_lock(const LimitFacts& limit, const DriverFacts& driver) {
    const std::string name = "memory lock";
    const std::string text =
        format("limit {} (hard {})", bytes_limit_text(limit.soft), bytes_limit_text(limit.hard));
    if (limit.soft >= kGoodLock) return {name, Verdict::ok, text, ""};
    if (driver.devices.empty()) {
        return {name, Verdict::ok, text + "; CPU devices lock no memory", ""};
    }
    return {name, Verdict::warn, text,
            "`ulimit -l unlimited` before the worker starts, or LimitMEMLOCK=infinity in its unit: "
            "offload keeps host memory locked"};
}

Check check_open_files(const LimitFacts& limit) {
    const std::string name = "open files";
    const std::string text =
        format("limit {} (hard {})", limit_text(limit.soft), limit_text(limit.hard));
    if (limit.hard >= kGoodFiles) return {name, Verdict::ok, text, ""};
    return {name, limit.hard < kLeastFiles ? Verdict::fail : Verdict::warn, text,
            format("`ulimit -Hn {}` before the daemons start, or LimitNOFILE= in their units: they "
                   "raise the soft limit to the "
                   "hard one, and every peer takes a socket",
                   kGoodFiles)};
}

Verdict worst(const std::vector<Check>& checks) {
    Verdict found = Verdict::ok;
    for (const Check& check : checks)
        found = std::max(found, check.verdict);
    return found;
}

std::string checks_json(const std::vector<Check>& checks) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Check& check : checks) {
        list.push_back({{"check", check.name},
                        {"verdict", std::string(to_string(check.verdict))},
                        {"text", check.text},
                        {"remedy", check.remedy}});
    }
    return list.dump();
}

}  // namespace rm
