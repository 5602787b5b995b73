// Fakes all NVIDIA libraries that `doctor` calls, in one: a machine with two GPUs.
#include <cstddef>
#include <cstring>

extern "C" {
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
int cuInit(unsigned flags) {
    return static_cast<int>(flags);
}
int cuDeviceGetCount(int* count) {
    *count = 2;
    return 0;
}
int cuDeviceGet(int* device, int index) {
    *device = index;
    return 0;
}
int cuDeviceGetName(char* name, int size, int /*device*/) {
    std::strncpy(name, "Fake L40S", static_cast<std::size_t>(size));
    return 0;
}
int ncclGetVersion(int* version) {
    *version = 22803;
    return 0;
}
int cudaRuntimeGetVersion(int* version) {
    *version = 12090;
    return 0;
}
}  // extern "C"
