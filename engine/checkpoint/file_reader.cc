#include "engine/checkpoint/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/checkpoint/durable_file.h"

namespace rm {

Result<FileReader> FileReader::open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return os_error("open", path, errno);
    struct stat info {};
    FileReader reader(path, fd, 0);
    if (::fstat(fd, &info) != 0) return os_error("read", path, errno);
    if (!S_ISREG(info.st_mode)) return invalid_argument("{} is not a regular file", path);
    reader.size_ = info.st_size;
    return reader;
}

FileReader::FileReader(std::string path, int fd, std::int64_t size)
    : path_(std::move(path)), fd_(fd), size_(size) {}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    return *this;
}

FileReader::~FileReader() {
    if (fd_ >= 0) ::close(fd_);
}

Status FileReader::read(std::int64_t at, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ssize_t count = ::pread(fd_, out.data(), out.size(), at);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error("read", path_, errno);
        if (count == 0) {
            return make_error(ErrorCode::data_loss, "{} ends at byte {}, {} bytes early", path_, at,
                              out.size());
        }
        out = out.subspan(static_cast<std::size_t>(count));
        at += count;
    }
    return {};
}

}  // namespace rm
