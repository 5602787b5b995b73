#include "engine/comm/nccl/api.h"

#include <dlfcn.h>

namespace rm::nccl {
namespace {

constexpr const char* kFile = "libnccl.so.2";

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
}

// The first name that the library lacks; null: none.
const char* first_missing(void* library, Api& api) {
#define RM_FIND(name) \
    if (!find(library, "nccl" #name, api.name)) return "nccl" #name
    RM_FIND(GetUniqueId);
    RM_FIND(CommInitRank);
    RM_FIND(CommDestroy);
    RM_FIND(CommAbort);
    RM_FIND(CommGetAsyncError);
    RM_FIND(GetErrorString);
    RM_FIND(GetLastError);
    RM_FIND(GroupStart);
    RM_FIND(GroupEnd);
    RM_FIND(Send);
    RM_FIND(Recv);
    RM_FIND(AllReduce);
    RM_FIND(ReduceScatter);
    RM_FIND(AllGather);
    RM_FIND(Broadcast);
    RM_FIND(Reduce);
#undef RM_FIND
    return nullptr;
}

Result<Api> load() {
    void* library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return make_error(ErrorCode::unavailable, "no NCCL: {} cannot be opened: {}", kFile,
                          ::dlerror());
    }
    Api api;
    int (*get_version)(int*) = nullptr;
    if (!find(library, "ncclGetVersion", get_version) || get_version(&api.version) != kSuccess)
        return make_error(ErrorCode::unavailable, "{} does not say its version", kFile);
    if (api.version < kOldestVersion) {
        return make_error(ErrorCode::unavailable, "{} is NCCL {}; {} or later is needed", kFile,
                          version_text(api.version), version_text(kOldestVersion));
    }
    const char* missing = first_missing(library, api);
    if (missing == nullptr) return api;
    return make_error(ErrorCode::unavailable, "{} has no {}", kFile, missing);
}

}  // namespace

Result<const Api*> open() {
    static const Result<Api> api = load();
    if (!api) return api.error();
    return &*api;
}

std::string version_text(int version) {
    return format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace rm::nccl
