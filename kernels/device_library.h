#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/words.h"
#include "kernels/kernels.h"

namespace rm {

// The shared libraries with the device kernels. They are opened at run time: executables never link
// them and run where there is no driver.
enum class DeviceLibrary {
    cuda,  // librm_cuda.so: GPUs
    emu,   // librm_emu.so: the same kernels on the SIMT emulator, in host memory closed to the host
};
constexpr auto vocabulary_of(DeviceLibrary) {
    return vocabulary<DeviceLibrary>("device library",
                                     {{DeviceLibrary::cuda, "cuda"}, {DeviceLibrary::emu, "emu"}});
}

struct DeviceOptions {
    int device = 0;            // as CUDA counts
    bool reproducible = true;  // the same op on the same operands gives the same bits
    std::string tuning_file;   // algorithms of matrix products, read and added to; empty: none
    Bytes memory{std::int64_t{1} << 30};  // of an emulated device; a GPU has its own
};

// The backend of one device, from the library beside the executable (or in ../bin or ../lib of it).
// Errors say what is missing (unavailable: the library, the driver, a newer driver, a device) and
// that the CPU backend is there.
Result<std::unique_ptr<Kernels>> load_device_kernels(DeviceLibrary library,
                                                     const DeviceOptions& options);
// Only what is missing; takes nothing on the device.
Status check_device(DeviceLibrary library, int device);

// A hash of the sources of base and kernels and of the compiler. C++ objects with virtual functions
// pass between a library and its user, so both must have been made from the same.
const char* device_library_build();

// The exports of the libraries, with C names.
using DeviceLibraryBuild = const char*();
using DeviceLibraryMake = void(const DeviceOptions& options,
                               Result<std::unique_ptr<Kernels>>& kernels);
using DeviceLibraryCheck = void(int device, Status& status);
constexpr const char* kDeviceLibraryBuildName = "rm_device_build";
constexpr const char* kDeviceLibraryCheckName = "rm_device_check";
constexpr const char* kDeviceLibraryMakeName = "rm_device_make_kernels";

}  // namespace rm
