#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cli/show/table.h"

// The assessment of a machine by `doctor`. Pure: facts in, one line each out; facts.h finds them.
namespace rm {

enum class Verdict { ok, warn, fail };
std::string_view to_string(Verdict verdict);

struct Check {
    std::string name;
    Verdict verdict = Verdict::ok;
    std::string text;
    std::string remedy;  // empty when it is ok
};

struct DriverFacts {
    bool present = false;              // libcuda.so.1 opens
    int cuda = 0;                      // the CUDA version it supports: 13010 is 13.1
    std::string error;                 // of a driver that does not start
    std::vector<std::string> devices;  // their names
    std::string version;               // of the module, 580.65.06; empty: unknown
};
// A GPU as NVML shows it.
struct GpuCondition {
    int index = 0;
    std::string product;
    std::string unfit;  // why no job could use it now; empty: it could
};
// A library that may be missing.
struct VersionFacts {
    std::string library;  // empty: there is none
    int version = 0;      // in its own numbers; 0: unknown
};
// librm_cuda.so, which contains the GPU kernels.
struct CudaLibraryFacts {
    std::string path;   // empty: there is none
    std::string error;  // why it does not open
};
enum class PortUse { free, served, blocked };  // blocked: no answer, and bind() fails
struct PortFacts {
    int port = 0;
    std::string purpose;  // "the controller's gRPC"
    PortUse use = PortUse::free;
};
struct ControllerFacts {
    std::string address;
    bool named = false;  // by a flag, the environment or the config file
    std::optional<Error> error;
    Seconds round_trip;
    std::optional<Seconds> skew;  // its clock minus ours; nothing: it sent no time
    int nodes = 0;
    int without_session = 0;
    int drained = 0;
    int unfit = 0;                       // devices that no job may use
    int builds = 0;                      // number of different builds among the nodes
    std::int64_t telemetry_dropped = 0;  // pieces, since it started
};
struct DiskFacts {
    std::string path;      // the state directory
    std::string measured;  // `path`, or its nearest existing parent
    Bytes free;
    Bytes total;
    bool writable = false;
};
constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
struct LimitFacts {
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
};

Check check_programs(const std::vector<std::string>& missing);
Check check_driver(const DriverFacts& driver);
Check check_gpus(const std::vector<GpuCondition>& gpus);
// 13010 is 13.1. A runtime newer than the driver supports does not start.
Check check_cuda_runtime(const VersionFacts& runtime, const DriverFacts& driver);
Check check_nccl(const VersionFacts& nccl);  // 22803 is 2.28.3
Check check_cuda_library(const CudaLibraryFacts& library, const DriverFacts& driver);
Check check_port(const PortFacts& port);
Check check_data_ports(int first, int last, int num_free);
Check check_controller(const ControllerFacts& controller);
Check check_telemetry(const ControllerFacts& controller);
Check check_clock(const ControllerFacts& controller);
Check check_disk(const DiskFacts& disk);
Check check_memory_lock(const LimitFacts& limit, const DriverFacts& driver);
Check check_open_files(const LimitFacts& limit);

Verdict worst(const std::vector<Check>& checks);
std::string checks_json(const std::vector<Check>& checks);

}  // namespace rm
