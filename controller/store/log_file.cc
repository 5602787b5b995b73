#include "controller/store/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

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

constexpr std::int64_t kLeastGap = 1'000'000;  // us

struct Entry {
    std::int64_t offset = 0;
    std::int64_t micros = 0;
};

class EntryFile {
public:
    EntryFile(const std::string& path, int flags) : file_(File::open(path, flags)) {
        struct stat info {};
        if (file_ && ::fstat(file_->fd(), &info) == 0)
            count_ = info.st_size / static_cast<std::int64_t>(sizeof(Entry));
    }

    std::int64_t count() const { return count_; }

    std::optional<Entry> at(std::int64_t index) const {
        Entry entry;
        if (index < 0 || index >= count_) return std::nullopt;
        const auto got =
            ::pread(file_->fd(), &entry, sizeof entry, index * std::int64_t{sizeof entry});
        return got == sizeof entry ? std::optional(entry) : std::nullopt;
    }

    bool append(const Entry& entry) const {
        if (!file_) return false;
        const std::int64_t end = count_ * std::int64_t{sizeof entry};
        return ::pwrite(file_->fd(), &entry, sizeof entry, end) == sizeof entry;
    }

    // The first entry for which `is_late` holds; count() when there is none.
    template <typename IsLate>
    std::int64_t first(const IsLate& is_late) const {
        std::int64_t low = 0;
        std::int64_t high = count_;
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            const auto entry = at(middle);
            if (entry && is_late(*entry)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

private:
    const Result<File> file_;
    std::int64_t count_ = 0;
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
        bytes.remove_prefix(usize(written));
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
    std::string bytes(usize(size), '\0');
    const ssize_t got = ::pread(file.fd(), bytes.data(), bytes.size(), offset);
    if (got < 0) return File::failure(path, "read");
    bytes.resize(usize(got));
    // Holes are whole blocks; what is missing beside them reads as zeros, which no log contains.
    const std::size_t first = std::min(bytes.find_first_not_of('\0'), bytes.size());
    offset += static_cast<std::int64_t>(first);
    const std::size_t end = std::min(bytes.find('\0', first), bytes.size());
    return bytes.substr(first, end - first);
}

std::string log_times_path(const std::string& log_path) {
    return log_path.substr(0, log_path.rfind('.')) + ".times";
}

Status note_log_time(const std::string& times_path, std::int64_t offset, WallTime time) {
    const EntryFile file(times_path, O_RDWR | O_CREAT);
    const auto last = file.at(file.count() - 1);
    // A clock that goes back, a piece that comes twice: both would end the growing.
    const bool is_new = !last || (offset > last->offset && time.micros >= last->micros + kLeastGap);
    if (!is_new || file.append({offset, time.micros})) return {};
    return make_error(ErrorCode::resource_exhausted, "write {}: {}", times_path,
                      std::strerror(errno));
}

LogTime find_log_time(const std::string& times_path, std::int64_t offset) {
    const EntryFile file(times_path, O_RDONLY);
    const std::int64_t next =
        file.first([offset](const Entry& entry) { return entry.offset > offset; });
    LogTime found;
    if (const auto entry = file.at(next - 1)) found.time = {entry->micros};
    if (const auto entry = file.at(next)) found.end = entry->offset;
    return found;
}

std::int64_t find_log_offset(const std::string& times_path, WallTime since) {
    const EntryFile file(times_path, O_RDONLY);
    const auto entry =
        file.at(file.first([since](const Entry& entry) { return entry.micros >= since.micros; }));
    return entry ? entry->offset : std::numeric_limits<std::int64_t>::max();
}

}  // namespace rm
