#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace rm {

// Decompresses a whole file of zstd; `raw` is as long as it states. data_loss: it is not;
// unimplemented: this build has no zstd.
Status decompress_zstd(std::span<const std::byte> compressed, std::span<std::byte> raw);

}  // namespace rm
