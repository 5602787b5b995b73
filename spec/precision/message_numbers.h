#pragma once

#include <cstdint>

#include "base/words.h"

namespace rm {

// The numbers in which ranks send each other rows of activations and of their gradients. fp8: codes
// (e4m3) and a factor for each row, a power of two, as kernels/ops/pack.h packs them.
enum class MessageNumbers { compute, fp8 };
constexpr auto vocabulary_of(MessageNumbers) {
    return vocabulary<MessageNumbers>(
        "numbers", {{MessageNumbers::compute, "compute"}, {MessageNumbers::fp8, "fp8"}});
}

// By the axis of the mesh whose groups send them.
struct MessageSpec {
    MessageNumbers ulysses = MessageNumbers::compute;  // heads; a row: a token's numbers of a head
    MessageNumbers tensor = MessageNumbers::compute;   // gathered tiles of layers; a row: a token's
    bool operator==(const MessageSpec&) const = default;
};

// Bytes of a row of `count` numbers that take `each` bytes as they are.
constexpr std::int64_t row_bytes(MessageNumbers numbers, std::int64_t count, std::int64_t each) {
    return numbers == MessageNumbers::fp8 ? 4 * ((count + 3) / 4 + 1) : count * each;
}

}  // namespace rm
