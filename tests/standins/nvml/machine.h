#pragma once

#include <nlohmann/json.hpp>

#include <mutex>
#include <string>

// The machine that the stand-in shows. The environment variable RM_STANDIN_NVML names a JSON file,
// which is read at every call: a test changes it by replacing it.
//     {"driver": "570.86.10", "cuda": 12080,
//      "gpus": [{"name": "NVIDIA L40S", "uuid": "GPU-1", "pci": "00000000:41:00.0",
//                "memory_mib": 46068, "used_mib": 4, "compute": [8, 9], "power_limit_w": 350,
//                "temperature": 41, "power_w": 36.5, "joules": 100, "throttle": 4, "replays": 0,
//                "corrected": 0, "uncorrected": 0, "remap_pending": false, "remap_failed": false,
//                "lost": false, "processes": [{"pid": 4242, "memory_mib": 12595}], "xids": [79]}]}
// A reading that a GPU does not have is not supported by it. `xids` are reported one after the
// other. "init": a code that nvmlInit returns.
namespace standin {

class Machine {
public:
    // This process's machine.
    static Machine& instance();

    nlohmann::json file();
    // The GPU at this place; null: there is none.
    nlohmann::json gpu(std::size_t index);

private:
    std::mutex mutex_;
    nlohmann::json last_ = nlohmann::json::object();  // that could be read
};

}  // namespace standin
