#include "controller/store/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/os/unique_fd.h"

namespace rm {
namespace {

Error failure(const std::string& path, std::string_view doing) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::resource_exhausted;
    return make_error(code, "{} {}: {}", doing, path, std::strerror(errno));
}

Result<UniqueFd> open_file(const std::string& path, int flags) {
    UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    if (!file) return failure(path, "open");
    return file;
}

constexpr std::int64_t kLeastGap = 1'000'000;  // us

struct Entry {
    std::int64_t offset = 0;
    std::int64_t micros = 0;
};

class EntryFile {
public:
    EntryFile(const std::string& path, int flags) : file_(open_file(path, flags)) {
        struct stat info {};
        if (file_ && ::fstat(file_->get(), &info) == 0)
            count_ = info.st_size / static_cast<std::int64_t>(sizeof(Entry));
    }

    std::int64_t count() const { return count_; }

    std::optional<Entry> at(std::int64_t index) const {
        Entry entry;
        if (index < 0 || index >= count_) return std::nullopt;
        const auto got =
            ::pread(file_->get(), &entry, sizeof entry, index * std::int64_t{sizeof entry});
        return got == sizeof entry ? std::optional(entry) : std::nullopt;
    }

    bool append(const Entry& entry) const {
        if (!file_) return false;
        const std::int64_t end = count_ * std::int64_t{sizeof entry};
        return ::pwrite(file_->get(), &entry, sizeof entry, end) == sizeof entry;
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
    const Result<UniqueFd> file_;
    std::int64_t count_ = 0;
};

}  // namespace

std::string log_path(const std::string& directory, const std::string& job, std::int64_t epoch,
                     int rank) {
    return format("{}/{}/e{}/rank-{}.log", directory, job, epoch, rank);
}

Status write_log(const std::string& path, std::int64_t offset, std::string_view bytes) {
    std::error_code ignored;  // open_file() reports it
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    RM_TRY(const UniqueFd file, open_file(path, O_WRONLY | O_CREAT));
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), offset);
        if (written < 0) return failure(path, "write");
        bytes.remove_prefix(usize(written));
        offset += written;
    }
    return {};
}

Status drop_log_front(const std::string& path, std::int64_t end) {
    RM_TRY(const UniqueFd file, open_file(path, O_WRONLY));
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (::fallocate(file.get(), mode, 0, end) != 0) return failure(path, "drop the front of");
    return {};
}

Result<std::string> read_log(const std::string& path, std::int64_t& offset, std::int64_t size) {
    RM_TRY(const UniqueFd file, open_file(path, O_RDONLY));
    const off_t data = ::lseek(file.get(), offset, SEEK_DATA);
    if (data < 0) return errno == ENXIO ? Result<std::string>("") : failure(path, "seek in");
    offset = data;
    std::string bytes(usize(size), '\0');
    const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), offset);
    if (got < 0) return failure(path, "read");
    bytes.resize(usize(got));
    // Holes are whole blocks; missing bytes beside them read as zeros, which no log contains.
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
    // A clock that was set back or a repeated piece would break the ascending order.
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
