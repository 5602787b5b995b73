#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace rm {

// Ranges of a file, by pread. Not mapped: every byte is converted or copied once anyway, and a
// mapped file that shrinks or a disk that fails would be a SIGBUS, where here it is an Error that
// names the path. Reading is const and thread safe.
class FileReader {
public:
    static Result<FileReader> open(const std::string& path);

    const std::string& path() const { return path_; }
    std::int64_t size() const { return size_; }  // bytes, when it was opened

    // Fills `out` from byte `at`; data_loss when the file ends before.
    Status read(std::int64_t at, std::span<std::byte> out) const;

private:
    FileReader(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    std::string path_;
    UniqueFd fd_;
    std::int64_t size_ = 0;
};

}  // namespace rm
