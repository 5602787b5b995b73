#include "worker/dir/progress_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/os/unique_fd.h"
#include "worker/dir/files.h"

namespace rm {

Status ProgressFile::create(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    // Allocated, not merely sized: a page that cannot be backed would kill the rank with SIGBUS.
    if (!file) return system_error("cannot create", path, errno);
    const int failed = ::posix_fallocate(file.get(), 0, kBytes);
    if (failed != 0) return system_error("cannot make room for", path, failed);
    return {};
}

Result<ProgressFile> ProgressFile::map(const std::string& path) {
    return map(path, O_RDWR, PROT_READ | PROT_WRITE);
}

Result<ProgressFile> ProgressFile::map_to_read(const std::string& path) {
    return map(path, O_RDONLY, PROT_READ);
}

Result<ProgressFile> ProgressFile::map(const std::string& path, int mode, int protection) {
    const UniqueFd file(::open(path.c_str(), mode | O_CLOEXEC));
    if (!file) return system_error("cannot open", path, errno);
    if (size_of_file(path) < kBytes) {
        return make_error(ErrorCode::data_loss, "{} has {} bytes instead of {}", path,
                          size_of_file(path), kBytes);
    }
    void* memory = ::mmap(nullptr, kBytes, protection, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return system_error("cannot map", path, errno);
    return ProgressFile(static_cast<ProgressPage*>(memory));
}

ProgressFile::~ProgressFile() {
    if (page_ != nullptr) ::munmap(page_, kBytes);
}

ProgressFile::ProgressFile(ProgressFile&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

ProgressFile& ProgressFile::operator=(ProgressFile&& other) noexcept {
    std::swap(page_, other.page_);
    return *this;
}

}  // namespace rm
