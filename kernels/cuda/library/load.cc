#include "kernels/cuda/library/load.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "librm_cuda.so";
constexpr std::string_view kOtherwise = "the CPU backend (--device cpu) needs none of this";

Error unavailable(const std::string& what) {
    return {ErrorCode::unavailable, format("no CUDA device: {}; {}", what, kOtherwise)};
}

Result<fs::path> find_library() {
    std::error_code ignored;
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    const std::array places = {here, here.parent_path() / "bin", here.parent_path() / "lib"};
    for (const fs::path& place : places) {
        if (fs::exists(place / kFile, ignored)) return place / kFile;
    }
    return unavailable(
        format("{} is neither in {} nor in ../bin or ../lib of it: this build has no CUDA (the "
               "cuda preset makes it), or the file was not installed",
               kFile, here.string()));
}

// Stays open: its code may be in use until the process ends.
Result<void*> open_library(const fs::path& path) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return unavailable(format("{} cannot be opened: {}", path.string(), ::dlerror()));
    }
    const auto build = reinterpret_cast<CudaLibraryBuild*>(::dlsym(library, kCudaLibraryBuildName));
    const std::string theirs = build == nullptr ? "of no build that says so" : build();
    if (theirs == cuda_library_build()) return library;
    return unavailable(
        format("{} is of another build ({}, this program is {}); install both from "
               "one build",
               path.string(), theirs, cuda_library_build()));
}

template <typename Function>
Result<Function*> find_function(const char* name) {
    RM_TRY(const fs::path path, find_library());
    RM_TRY(void* const library, open_library(path));
    const auto found = reinterpret_cast<Function*>(::dlsym(library, name));
    if (found == nullptr) return unavailable(format("{} has no {}", path.string(), name));
    return found;
}

}  // namespace

Status check_cuda_device(int device) {
    RM_TRY(CudaLibraryCheck* const check, find_function<CudaLibraryCheck>(kCudaLibraryCheckName));
    Status status;
    check(device, status);
    return status ? status : Status(unavailable(status.error().message));
}

Result<std::unique_ptr<Kernels>> load_cuda_kernels(const CudaOptions& options) {
    RM_TRY(CudaLibraryMake* const make, find_function<CudaLibraryMake>(kCudaLibraryMakeName));
    Result<std::unique_ptr<Kernels>> kernels = unavailable("the library made nothing");
    make(options, kernels);
    if (!kernels) return unavailable(kernels.error().message);
    return kernels;
}

Result<std::unique_ptr<Fp8Linear>> load_cuda_fp8_linear(Kernels& kernels,
                                                        const Fp8LinearSize& size) {
    RM_TRY(CudaLibraryMakeFp8Linear* const make,
           find_function<CudaLibraryMakeFp8Linear>(kCudaLibraryMakeFp8LinearName));
    Result<std::unique_ptr<Fp8Linear>> linear = unavailable("the library made nothing");
    make(kernels.device(), size, linear);
    return linear;
}

}  // namespace rm
