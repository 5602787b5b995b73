#include "engine/data/file/zstd.h"

#include <zstd.h>

namespace rm {

Status decompress_zstd(std::span<const std::byte> compressed, std::span<std::byte> raw) {
    const std::size_t got =
        ZSTD_decompress(raw.data(), raw.size(), compressed.data(), compressed.size());
    if (ZSTD_isError(got) != 0) return data_loss("{}", ZSTD_getErrorName(got));
    if (got == raw.size()) return {};
    return data_loss("it holds {} bytes, not {}", got, raw.size());
}

}  // namespace rm
