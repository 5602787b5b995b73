#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "spec/network.h"

namespace rm {

// How a rank's NCCL reaches others. NCCL reads it from the environment: users set none of it.
struct NcclSettings {
    std::string interface;  // "eth0"
    bool is_ipv6 = false;
    Reproducible reproducible = Reproducible::off;
    bool operator==(const NcclSettings&) const = default;
};

// On the interface with the worker's data address; `unavailable` where there is none.
Result<NcclSettings> nccl_settings(const std::string& data_address, Reproducible reproducible);

// NCCL's environment variables (documentation of NCCL 2.18 to 2.28, "Environment Variables").
std::map<std::string, std::string> environment_of(const NcclSettings& settings);
// "eth0", "eth0, algorithm Ring, protocol Simple"
std::string to_string(const NcclSettings& settings);

}  // namespace rm
