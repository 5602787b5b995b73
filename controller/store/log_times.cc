#include "controller/store/log_times.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace rm {
namespace {

constexpr std::int64_t kLeastGap = 1'000'000;  // us

struct Entry {
    std::int64_t offset = 0;
    std::int64_t micros = 0;
};

class EntryFile {
public:
    EntryFile(const std::string& path, int flags)
        : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
        struct stat info {};
        if (fd_ >= 0 && ::fstat(fd_, &info) == 0)
            count_ = info.st_size / static_cast<std::int64_t>(sizeof(Entry));
    }
    ~EntryFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    EntryFile(const EntryFile&) = delete;
    EntryFile& operator=(const EntryFile&) = delete;

    std::int64_t count() const { return count_; }

    std::optional<Entry> at(std::int64_t index) const {
        Entry entry;
        if (index < 0 || index >= count_) return std::nullopt;
        const auto got = ::pread(fd_, &entry, sizeof entry, index * std::int64_t{sizeof entry});
        return got == sizeof entry ? std::optional(entry) : std::nullopt;
    }

    bool append(const Entry& entry) const {
        const auto put = ::pwrite(fd_, &entry, sizeof entry, count_ * std::int64_t{sizeof entry});
        return put == sizeof entry;
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
    int fd_;
    std::int64_t count_ = 0;
};

}  // namespace

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
