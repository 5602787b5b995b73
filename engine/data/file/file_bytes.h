#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/os/unique_fd.h"
#include "base/result.h"
#include "engine/data/file/content_hash.h"

namespace rm {

// Reads a file at any place, from any number of threads. Not mapped: where a file shrinks, a
// mapping gives SIGBUS and a read gives an error.
class FileBytes {
public:
    // not_found or permission_denied; invalid_argument: not a regular file.
    static Result<FileBytes> open(const std::string& path);

    const std::string& path() const { return path_; }
    std::int64_t size() const { return size_; }  // when it was opened

    // failed_precondition when the file ends earlier.
    Status read(std::int64_t offset, std::span<std::byte> out) const;
    // Passes the whole file in blocks.
    Status visit(const ReadWatch& watch,
                 const std::function<void(std::span<const std::byte>)>& block) const;

private:
    FileBytes(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    std::string path_;
    UniqueFd fd_;
    std::int64_t size_ = 0;
};

// Hashes files whose names do not matter.
Result<std::string> content_hash_of(std::span<const FileBytes* const> files,
                                    const ReadWatch& watch);

}  // namespace rm
