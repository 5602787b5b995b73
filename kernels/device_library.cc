#include "kernels/device_library.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>

#include "kernels/device_copy.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOtherwise = "the CPU backend (--device cpu) needs none of this";

struct LibraryWords {
    std::string_view device;   // the kind of device in errors
    std::string_view missing;  // why a build may lack the library
};
constexpr LibraryWords words_of(DeviceLibrary library) {
    if (library == DeviceLibrary::cuda) return {"CUDA", "no CUDA (the cuda preset makes it)"};
    return {"emulated", "no emulator (x86-64 builds with RM_TESTS make it)"};
}

Error unavailable(DeviceLibrary library, const std::string& what) {
    return {ErrorCode::unavailable,
            format("no {} device: {}; {}", words_of(library).device, what, kOtherwise)};
}

Result<fs::path> find_library(DeviceLibrary library) {
    const std::string file = format("librm_{}.so", to_string(library));
    std::error_code ignored;
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    const std::array places = {here, here.parent_path() / "bin", here.parent_path() / "lib"};
    for (const fs::path& place : places) {
        if (fs::exists(place / file, ignored)) return place / file;
    }
    return unavailable(library,
                       format("{} is neither in {} nor in ../bin or ../lib of it: this build has "
                              "{}, or the file was not installed",
                              file, here.string(), words_of(library).missing));
}

// Stays open: its code may be in use until the process ends.
Result<void*> open_library(DeviceLibrary library, const fs::path& path) {
    void* opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
        return unavailable(library, format("{} cannot be opened: {}", path.string(), ::dlerror()));
    }
    const auto build =
        reinterpret_cast<DeviceLibraryBuild*>(::dlsym(opened, kDeviceLibraryBuildName));
    const std::string theirs = build == nullptr ? "of no build that says so" : build();
    if (theirs == device_library_build()) return opened;
    return unavailable(library,
                       format("{} is of another build ({}, this program is {}); install both from "
                              "one build",
                              path.string(), theirs, device_library_build()));
}

template <typename Function>
Result<Function*> find_function(DeviceLibrary library, const char* name) {
    RM_TRY(const fs::path path, find_library(library));
    RM_TRY(void* const opened, open_library(library, path));
    const auto found = reinterpret_cast<Function*>(::dlsym(opened, name));
    if (found == nullptr) return unavailable(library, format("{} has no {}", path.string(), name));
    return found;
}

}  // namespace

Status check_device(DeviceLibrary library, int device) {
    RM_TRY(DeviceLibraryCheck* const check,
           find_function<DeviceLibraryCheck>(library, kDeviceLibraryCheckName));
    Status status;
    check(device, status);
    return status ? status : Status(unavailable(library, status.error().message));
}

Result<std::unique_ptr<Kernels>> load_device_kernels(DeviceLibrary library,
                                                     const DeviceOptions& options) {
    RM_TRY(DeviceLibraryMake* const make,
           find_function<DeviceLibraryMake>(library, kDeviceLibraryMakeName));
    Result<std::unique_ptr<Kernels>> kernels = unavailable(library, "the library made nothing");
    make(options, kernels);
    if (!kernels) return unavailable(library, kernels.error().message);
    return kernels;
}

Result<DeviceCopy*> load_device_copy(DeviceLibrary library) {
    return find_function<DeviceCopy>(library, kDeviceCopyName);
}

}  // namespace rm
