#pragma once

#include <cstdint>

namespace rm {

// Text as its own bytes: token b is byte b, and one more token ends each document.
struct ByteTokenizer {
    static constexpr std::int32_t kEndOfDocument = 256;
    static constexpr std::int64_t kVocabulary = 257;
};

}  // namespace rm
