#include "engine/data/document_reader.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace rm {

Status DocumentReader::read(std::int64_t document, std::int64_t offset,
                            std::span<std::uint8_t> out) {
    const std::string path = corpus_->file_path(document);
    if (open_document_ != document) {
        open_document_ = -1;
        file_ = std::ifstream(path, std::ios::binary);
        if (!file_) {
            return make_error(ErrorCode::failed_precondition, "cannot read {}: {}", path,
                              std::generic_category().message(errno));
        }
        open_document_ = document;
    }
    file_.clear();
    file_.seekg(offset);
    file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    if (file_.gcount() == static_cast<std::streamsize>(out.size())) return {};
    open_document_ = -1;
    return make_error(
        ErrorCode::failed_precondition,
        "{} ends before byte {}, but had {} bytes when the data was opened: data must "
        "not change during a run",
        path, offset + static_cast<std::int64_t>(out.size()),
        corpus_->documents().at(static_cast<std::size_t>(document)).bytes);
}

Status DocumentReader::visit(std::int64_t document,
                             const std::function<void(std::span<const std::uint8_t>)>& block) {
    constexpr std::int64_t kBlockBytes = 1 << 20;
    const std::int64_t bytes = corpus_->documents().at(static_cast<std::size_t>(document)).bytes;
    std::vector<std::uint8_t> buffer(static_cast<std::size_t>(std::min(bytes, kBlockBytes)));
    for (std::int64_t offset = 0; offset < bytes; offset += kBlockBytes) {
        const std::span<std::uint8_t> part(
            buffer.data(), static_cast<std::size_t>(std::min(kBlockBytes, bytes - offset)));
        RM_RETURN_IF_ERROR(read(document, offset, part));
        block(part);
    }
    return {};
}

}  // namespace rm
