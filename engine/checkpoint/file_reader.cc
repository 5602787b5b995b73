#include "engine/checkpoint/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "engine/checkpoint/durable_file.h"

namespace rm {

Result<FileReader> FileReader::open(const std::string& path) {
    FileReader reader(path, UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
    if (!reader.fd_) return os_error("open", path, errno);
    struct stat info {};
    if (::fstat(reader.fd_.get(), &info) != 0) return os_error("read", path, errno);
    if (!S_ISREG(info.st_mode)) return invalid_argument("{} is not a regular file", path);
    reader.size_ = info.st_size;
    return reader;
}

Status FileReader::read(std::int64_t at, std::span<std::byte> out) const {
    const std::int64_t got = read_at(fd_.get(), at, out);
    if (got == std::ssize(out)) return {};
    if (got < 0) return os_error("read", path_, errno);
    return data_loss("{} ends at byte {}, {} bytes early", path_, at + got, std::ssize(out) - got);
}

}  // namespace rm
