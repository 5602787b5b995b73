#pragma once

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "base/format.h"

// Machines for the NVML stand-in: tests/standins/nvml/machine.h says what the file holds.
namespace rm::test {

inline nlohmann::json l40s(int index) {
    return {{"name", "NVIDIA L40S"},
            {"uuid", format("GPU-{:08}-0000-4000-8000-000000000000", index)},
            {"pci", format("00000000:{:02x}:00.0", 0x41 + index)},
            {"memory_mib", 46068},
            {"used_mib", 4},
            {"compute", {8, 9}},
            {"power_limit_w", 350},
            {"temperature", 40 + index},
            {"power_w", 36.5},
            {"joules", 1000 * (index + 1)},
            {"throttle", 0},
            {"replays", 0},
            {"corrected", 0},
            {"uncorrected", 0},
            {"remap_pending", false},
            {"processes", nlohmann::json::array()}};
}

inline nlohmann::json machine_of(int num_gpus) {
    nlohmann::json gpus = nlohmann::json::array();
    for (int i = 0; i < num_gpus; ++i)
        gpus.push_back(l40s(i));
    return {{"driver", "570.86.10"}, {"cuda", 12080}, {"gpus", gpus}};
}

// Makes the stand-in the NVML of this program, and `file` its machine. Opened first, it is the
// library of its name for the whole program.
inline void use_nvml(const char* library, const std::string& file) {
    static void* const opened = ::dlopen(library, RTLD_NOW);
    RM_CHECK(opened != nullptr, "{}", ::dlerror());
    ::setenv("RM_STANDIN_NVML", file.c_str(), 1);
}

// In place at once: a reader sees the old file or the new one.
inline void show_machine(const std::string& file, const nlohmann::json& machine) {
    std::ofstream(file + ".new") << machine.dump();
    std::filesystem::rename(file + ".new", file);
}

}  // namespace rm::test
