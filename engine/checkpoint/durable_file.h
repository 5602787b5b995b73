#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/os/unique_fd.h"
#include "base/result.h"

// Writes files that are on the disk when the call returns. Every system call passes a fault point
// first; an InjectedFault simulates the death of the process there. Errors name the path and the
// system's words: "cannot write /ckpt/x: No space left on device". A full disk is UNAVAILABLE: the
// same write may succeed later.
namespace rm {

Error os_error(std::string_view action, const std::string& path, int number);

// A new file. Points: checkpoint.create, checkpoint.write (half of the bytes are written before it
// throws), checkpoint.full (the write fails as on a full disk), checkpoint.fsync.
class DurableFile {
public:
    // Fails if it exists.
    static Result<DurableFile> create(const std::string& path, Faults& faults);

    Status write(std::span<const std::byte> bytes);
    Status finish();  // fsync and close

private:
    DurableFile(std::string path, UniqueFd fd, Faults& faults)
        : path_(std::move(path)), fd_(std::move(fd)), faults_(&faults) {}

    std::string path_;
    UniqueFd fd_;
    Faults* faults_;
};

Status write_durable_file(const std::string& path, std::string_view text, Faults& faults);
Status make_directories(const std::string& path);
Status remove_file(const std::string& path, Faults& faults);  // point checkpoint.remove
Status remove_tree(const std::string& path, Faults& faults);  // point checkpoint.remove
Status sync_directory(const std::string& path, Faults& faults);

// Gives the directory `from` the name `to` in one step (point checkpoint.rename). An existing `to`
// is exchanged with it and then removed; where the file system cannot exchange (or the point
// checkpoint.exchange fires), `to` is first renamed.
Status replace_directory(const std::string& from, const std::string& to, Faults& faults);
Status rename_path(const std::string& from, const std::string& to, Faults& faults);

Result<std::string> read_file(const std::string& path);
Result<std::vector<std::string>> names_in(const std::string& dir);  // of all entries

// Reads ranges of a file by pread. Not mapped: every byte is converted or copied once anyway, and
// if a file shrinks or a disk fails, a mapping raises SIGBUS, while read() returns an Error that
// names the path. Reading is const and thread safe.
class FileReader {
public:
    static Result<FileReader> open(const std::string& path);

    const std::string& path() const { return path_; }
    std::int64_t size() const { return size_; }  // bytes, when it was opened

    // Fills `out` from byte `at`; data_loss if the file is too short.
    Status read(std::int64_t at, std::span<std::byte> out) const;

private:
    FileReader(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    std::string path_;
    UniqueFd fd_;
    std::int64_t size_ = 0;
};

}  // namespace rm
