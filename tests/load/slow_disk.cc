#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

// Preloaded into a process under load: every fsync and fdatasync takes RM_FSYNC_DELAY_US longer, as
// on a slow or busy disk.
namespace {

using Sync = int (*)(int);

int delayed(const char* name, int fd) {
    static const char* const text = std::getenv("RM_FSYNC_DELAY_US");
    if (text != nullptr) ::usleep(static_cast<useconds_t>(std::strtol(text, nullptr, 10)));
    return reinterpret_cast<Sync>(::dlsym(RTLD_NEXT, name))(fd);
}

}  // namespace

extern "C" int fsync(int fd) {
    return delayed("fsync", fd);
}
extern "C" int fdatasync(int fd) {
    return delayed("fdatasync", fd);
}
