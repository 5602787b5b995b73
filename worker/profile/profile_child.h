#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "engine/train/rank_device.h"
#include "spec/job_spec.h"

// CUDA never starts in the daemon: a child process measures a device and leaves the profile in a
// file.
namespace rm {

struct ProfileRequest {
    RankDevice device;
    std::string uuid;     // of the GPU, which the child sees alone; empty: of no GPU
    int numa_node = -1;   // of the GPU, where the child stays; -1: unknown
    Bytes memory;         // of an emulated device; 0: the emulator's default
    int num_threads = 1;  // of a CPU slot
    int num_slots = 1;    // CPU slots that compute at once, as they do in a job
    Precision compute = Precision::bf16;
    std::string driver;  // for the provenance
    std::string path;    // of the profile
    Seconds budget{20};  // see MeasureOptions
    bool operator==(const ProfileRequest&) const = default;
};
std::string to_json(const ProfileRequest& request);
// INVALID_ARGUMENT names the member.
Result<ProfileRequest> parse_profile_request(std::string_view text);

// The child's work. Call it before any thread exists: it changes the environment.
Status measure_requested(const ProfileRequest& request);

// The child's main function; prints the error.
int run_profile_child(std::string_view request);

}  // namespace rm
