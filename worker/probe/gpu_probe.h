#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/device_library.h"
#include "worker/probe/inside_probe.h"

// GPUs are probed in a child process: CUDA never starts in the daemon.
namespace rm {

struct ProbedGpu {
    int index = 0;       // in the samples
    std::string uuid;    // empty: of an emulated device
    std::string bridge;  // see GpuFacts; GPUs of one are also measured together
    bool operator==(const ProbedGpu&) const = default;
};

// The child's work, and the file in which it leaves its findings.
struct GpuProbeRequest {
    DeviceLibrary library = DeviceLibrary::cuda;
    std::vector<ProbedGpu> gpus;
    std::string path;
    Bytes size{std::int64_t{32} << 20};  // of a large copy
    Seconds each{0.01};                  // how long each connection is measured
    bool operator==(const GpuProbeRequest&) const = default;
};
std::string to_json(const GpuProbeRequest& request);
// INVALID_ARGUMENT names the member.
Result<GpuProbeRequest> parse_gpu_probe_request(std::string_view text);

std::string to_json(const InsideFindings& findings);
// DATA_LOSS names the member.
Result<InsideFindings> parse_inside_findings(std::string_view text);

// Measures in this process; the environment then names the GPUs, so no thread may exist yet.
Result<InsideFindings> probe_gpus(const GpuProbeRequest& request);

// The child's main function; prints the error.
int run_gpu_probe_child(std::string_view request);

// Shared by a probe, on the prober's thread, and its owner.
struct GpuProbeState {
    std::atomic<bool> runs = false;      // a child has the GPUs
    std::atomic<bool> must_end = false;  // the owner stops: the child is killed
};

struct GpuProbeTerms {
    GpuProbeRequest request;
    std::vector<std::string> command;  // of the child, + the request
    Seconds limit{12};                 // the child is killed after so long
    // Why the GPUs must not be disturbed; empty: they may be. Asked many times a second.
    std::function<std::string()> why_not;
};
// `state` outlives the probe.
std::unique_ptr<InsideProbe> make_gpu_inside_probe(GpuProbeTerms terms, GpuProbeState& state);

}  // namespace rm
