#include "engine/data/file/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace rm {
namespace {

Error cannot_read(const std::string& path, int reason) {
    const auto code =
        reason == ENOENT || reason == ENOTDIR ? ErrorCode::not_found : ErrorCode::permission_denied;
    return make_error(code, "cannot read {}: {}", path, std::generic_category().message(reason));
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path) {
    FileBytes file(path, UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    struct stat status {};
    if (!file.fd_ || ::fstat(file.fd_.get(), &status) != 0) return cannot_read(path, errno);
    if (!S_ISREG(status.st_mode)) return invalid_argument("{} is not a file", path);
    file.size_ = status.st_size;
    return file;
}

Status FileBytes::read(std::int64_t offset, std::span<std::byte> out) const {
    const std::int64_t got = read_at(fd_.get(), offset, out);
    if (got == std::ssize(out)) return {};
    if (got < 0) return cannot_read(path_, errno);
    return make_error(
        ErrorCode::failed_precondition,
        "{} ends before byte {}, but had {} bytes when the data was opened: data must "
        "not change during a run",
        path_, offset + std::ssize(out), size_);
}

Status FileBytes::visit(const ReadWatch& watch,
                        const std::function<void(std::span<const std::byte>)>& block) const {
    constexpr std::int64_t kBlockBytes = kSampleBytes;
    std::vector<std::byte> buffer(usize(std::min(size_, kBlockBytes)));
    for (std::int64_t at = 0; at < size_; at += kBlockBytes) {
        const std::span part(buffer.data(), usize(std::min(kBlockBytes, size_ - at)));
        RM_RETURN_IF_ERROR(watch.pass(std::ssize(part)));
        RM_RETURN_IF_ERROR(read(at, part));
        block(part);
    }
    return {};
}

Result<std::string> content_hash_of(std::span<const FileBytes* const> files,
                                    const ReadWatch& watch) {
    std::int64_t total = 0;
    for (const FileBytes* file : files)
        total += file->size();
    if (total > kHashedWhole) {
        std::vector<HashedFile> parts;
        for (const FileBytes* file : files) {
            parts.push_back({"", file->size(), [file](std::int64_t at, std::span<std::byte> out) {
                                 return file->read(at, out);
                             }});
        }
        return sampled_hash(parts, watch);
    }
    Xxh3 hash;
    for (const FileBytes* file : files) {
        hash.update(file->size());
        RM_RETURN_IF_ERROR(
            file->visit(watch, [&hash](std::span<const std::byte> block) { hash.update(block); }));
    }
    return hash.hex();
}

}  // namespace rm
