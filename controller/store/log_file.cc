#include "controller/store/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace rm {
namespace {

class File {
public:
    static Result<File> open(const std::string& path, int flags) {
        const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
        if (fd < 0) return failure(path, "open");
        return File(fd);
    }
    ~File() {
        if (fd_ >= 0) ::close(fd_);
    }
    File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    int fd() const { return fd_; }

    static Error failure(const std::string& path, std::string_view doing) {
        const ErrorCode code =
            errno == ENOENT ? ErrorCode::not_found : ErrorCode::resource_exhausted;
        return make_error(code, "{} {}: {}", doing, path, std::strerror(errno));
    }

private:
    explicit File(int fd) : fd_(fd) {}
    int fd_;
};

}  // namespace

std::string log_path(const std::string& directory, const std::string& job, std::int64_t epoch,
                     int rank) {
    return format("{}/{}/e{}/rank-{}.log", directory, job, epoch, rank);
}

Status write_log(const std::string& path, std::int64_t offset, std::string_view bytes) {
    std::error_code ignored;  // opening says what is wrong
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    RM_TRY(const File file, File::open(path, O_WRONLY | O_CREAT));
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(file.fd(), bytes.data(), bytes.size(), offset);
        if (written < 0) return File::failure(path, "write");
        bytes.remove_prefix(static_cast<std::size_t>(written));
        offset += written;
    }
    return {};
}

Status drop_log_front(const std::string& path, std::int64_t end) {
    RM_TRY(const File file, File::open(path, O_WRONLY));
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (::fallocate(file.fd(), mode, 0, end) != 0) return File::failure(path, "drop the front of");
    return {};
}

Result<std::string> read_log(const std::string& path, std::int64_t& offset, std::int64_t size) {
    RM_TRY(const File file, File::open(path, O_RDONLY));
    const off_t data = ::lseek(file.fd(), offset, SEEK_DATA);
    if (data < 0) return errno == ENXIO ? Result<std::string>("") : File::failure(path, "seek in");
    offset = data;
    std::string bytes(static_cast<std::size_t>(size), '\0');
    const ssize_t got = ::pread(file.fd(), bytes.data(), bytes.size(), offset);
    if (got < 0) return File::failure(path, "read");
    bytes.resize(static_cast<std::size_t>(got));
    // Holes are whole blocks; what is missing beside them reads as zeros, which no log contains.
    const std::size_t first = std::min(bytes.find_first_not_of('\0'), bytes.size());
    offset += static_cast<std::int64_t>(first);
    const std::size_t end = std::min(bytes.find('\0', first), bytes.size());
    return bytes.substr(first, end - first);
}

}  // namespace rm
