#include "engine/data/text_source.h"

#include <algorithm>
#include <vector>

namespace rm {

Result<std::string> TextReader::load(std::int64_t document) {
    RM_TRY(const std::int64_t bytes, num_bytes(document));
    std::string text(static_cast<std::size_t>(bytes), '\0');
    RM_RETURN_IF_ERROR(
        read(document, 0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    return text;
}

Status TextReader::visit(std::int64_t document,
                         const std::function<void(std::span<const std::uint8_t>)>& block) {
    constexpr std::int64_t kBlockBytes = 1 << 20;
    RM_TRY(const std::int64_t bytes, num_bytes(document));
    std::vector<std::uint8_t> buffer(static_cast<std::size_t>(std::min(bytes, kBlockBytes)));
    for (std::int64_t offset = 0; offset < bytes; offset += kBlockBytes) {
        const std::span<std::uint8_t> part(
            buffer.data(), static_cast<std::size_t>(std::min(kBlockBytes, bytes - offset)));
        RM_RETURN_IF_ERROR(read(document, offset, part));
        block(part);
    }
    return {};
}

std::int64_t TextSource::total_stored_bytes() const {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < num_documents(); ++i)
        bytes += stored_bytes(i);
    return bytes;
}

}  // namespace rm
