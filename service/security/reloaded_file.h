#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/state_dir.h"

namespace rm {

// The parsed contents of a small file, reread when it changes: every use costs one stat(). A file
// that cannot be read or parsed is an error until it can, never its old contents: an edit that
// revokes something must not be ignored. Thread safe.
template <typename T>
class ReloadedFile {
public:
    using Parse = std::function<Result<T>(std::string_view text, std::string_view file_name)>;

    ReloadedFile(std::string path, Parse parse)
        : path_(std::move(path)), parse_(std::move(parse)) {}

    // Callers share ownership, so that a change does not invalidate the contents they use.
    Result<std::shared_ptr<const T>> get() const {
        const std::lock_guard lock(mutex_);
        const Stamp now = stamp();
        if (current_ && now == stamp_) return current_;
        current_.reset();
        RM_TRY(const std::string text, read_small_file(path_));
        RM_TRY(T parsed, parse_(text, path_));
        current_ = std::make_shared<const T>(std::move(parsed));
        stamp_ = now;
        return current_;
    }

private:
    struct Stamp {
        ino_t inode = 0;
        off_t size = 0;
        std::int64_t seconds = 0;
        std::int64_t nanos = 0;
        bool operator==(const Stamp&) const = default;
    };
    Stamp stamp() const {
        struct stat file {};
        if (::stat(path_.c_str(), &file) != 0) return {};
        return {file.st_ino, file.st_size, file.st_ctim.tv_sec, file.st_ctim.tv_nsec};
    }

    const std::string path_;
    const Parse parse_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const T> current_;  // null: to be read
    mutable Stamp stamp_;
};

}  // namespace rm
