#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace rm {

// Ranges of a file, by pread. Not mapped: every byte is converted or copied once anyway, and a
// mapped file that shrinks or a disk that fails would be a SIGBUS, where here it is an Error that
// names the path. Reading is const and thread safe.
class FileReader {
public:
    static Result<FileReader> open(const std::string& path);
    FileReader(FileReader&& other) noexcept;
    FileReader& operator=(FileReader&& other) noexcept;
    ~FileReader();

    const std::string& path() const { return path_; }
    std::int64_t size() const { return size_; }  // bytes, when it was opened

    // Fills `out` from byte `at`; data_loss when the file ends before.
    Status read(std::int64_t at, std::span<std::byte> out) const;

private:
    FileReader(std::string path, int fd, std::int64_t size);

    std::string path_;
    int fd_ = -1;
    std::int64_t size_ = 0;
};

}  // namespace rm
