#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/device_library.h"

namespace rm {

struct RankConfig;
struct JobSpec;

// Where a rank computes: "cpu"; "cuda:N", a GPU; "emu:N", a GPU emulated on the CPU. Ranks of one
// process may share a device.
struct RankDevice {
    std::optional<DeviceLibrary> library;  // nothing: the CPU backend
    int index = 0;
    bool operator==(const RankDevice&) const = default;

    bool is_cpu() const { return !library; }
};
std::string to_string(const RankDevice& device);
// "cuda" and "emu" mean device 0.
Result<RankDevice> parse_rank_device(std::string_view text);

// The error says what is missing on this machine, or that the device lacks the job's precision.
Status check_rank_device(const RankDevice& device, const JobSpec& spec);

// The backend of config.device; errors as above. `tuning_file`: see DeviceOptions.
Result<std::unique_ptr<Kernels>> make_rank_kernels(const RankConfig& config,
                                                   const std::string& tuning_file = {});

}  // namespace rm
