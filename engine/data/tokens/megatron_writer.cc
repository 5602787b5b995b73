#include "engine/data/tokens/megatron_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include "engine/data/tokens/token_formats.h"

namespace rm {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostIdsOfU16 = 65500;  // Megatron's own limit, a little below 2^16

Error cannot(std::string_view what, const std::string& path, int reason) {
    ErrorCode code = ErrorCode::permission_denied;
    if (reason == ENOENT || reason == ENOTDIR) code = ErrorCode::not_found;
    if (reason == ENOSPC || reason == EDQUOT || reason == EIO) code = ErrorCode::unavailable;
    return make_error(code, "cannot {} {}: {}", what, path,
                      std::generic_category().message(reason));
}

Result<UniqueFd> create_file(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd) return cannot("create", path, errno);
    return fd;
}

// Syncs the file to disk and gives it its own name.
Status publish(const UniqueFd& fd, const std::string& from, const std::string& to) {
    if (::fsync(fd.get()) != 0) return cannot("write", from, errno);
    if (::rename(from.c_str(), to.c_str()) != 0) return cannot("rename to", to, errno);
    return {};
}

}  // namespace

std::string MegatronWriter::unfinished(std::string_view extension) const {
    return format("{}{}.unfinished-{}", prefix_, extension, ::getpid());
}

Result<MegatronWriter> MegatronWriter::create(const std::string& prefix, std::int64_t vocabulary) {
    for (const char* extension : {".bin", ".idx"}) {
        if (!std::filesystem::exists(prefix + extension)) continue;
        return make_error(ErrorCode::already_exists,
                          "{}{} exists: remove it or choose another name", prefix, extension);
    }
    const TokenDType dtype = vocabulary < kMostIdsOfU16 ? TokenDType::u16 : TokenDType::i32;
    MegatronWriter writer(prefix, dtype);
    RM_TRY(writer.fd_, create_file(writer.unfinished(".bin")));
    return writer;
}

MegatronWriter::~MegatronWriter() {
    if (!fd_) return;
    for (const char* extension : {".bin", ".idx"})
        ::unlink(unfinished(extension).c_str());
}

Status MegatronWriter::add_document(std::span<const TokenId> tokens) {
    if (tokens.size() > usize(std::numeric_limits<std::int32_t>::max())) {
        return make_error(ErrorCode::resource_exhausted,
                          "a document of {} tokens; the format has room for 2147483647",
                          tokens.size());
    }
    const auto size = usize(size_of(dtype_));
    const std::size_t begin = buffer_.size();
    buffer_.resize(begin + tokens.size() * size);
    // Little endian: the low bytes of an id come first, and it fits in them.
    for (std::size_t i = 0; i < tokens.size(); ++i)
        std::memcpy(buffer_.data() + begin + i * size, &tokens[i], size);
    document_tokens_.push_back(std::ssize(tokens));
    return buffer_.size() < kBufferBytes ? Status() : flush();
}

Status MegatronWriter::flush() {
    if (!write_all(fd_.get(), buffer_)) return cannot("write", unfinished(".bin"), errno);
    buffer_.clear();
    return {};
}

Status MegatronWriter::finish() {
    RM_RETURN_IF_ERROR(flush());
    RM_TRY(const UniqueFd idx, create_file(unfinished(".idx")));
    if (!write_all(idx.get(), encode_megatron_index(dtype_, document_tokens_))) {
        return cannot("write", unfinished(".idx"), errno);
    }
    RM_RETURN_IF_ERROR(publish(fd_, unfinished(".bin"), prefix_ + ".bin"));
    RM_RETURN_IF_ERROR(publish(idx, unfinished(".idx"), prefix_ + ".idx"));
    fd_.reset();
    return {};
}

}  // namespace rm
