#include "engine/data/document_reader.h"

#include <cerrno>
#include <system_error>

namespace rm {

Result<std::int64_t> DocumentReader::num_bytes(std::int64_t document) {
    return corpus_->documents().at(static_cast<std::size_t>(document)).bytes;
}

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

}  // namespace rm
