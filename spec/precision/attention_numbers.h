#pragma once

#include "base/words.h"

namespace rm {

// The numbers that attention's forward products multiply. eight_bit: queries and keys in int8,
// probabilities and values in e4m3, with scales of small blocks (Zhang et al., SageAttention2,
// 2024); the backward pass stays in the type of compute.
enum class AttentionNumbers { compute, eight_bit };
constexpr auto vocabulary_of(AttentionNumbers) {
    return vocabulary<AttentionNumbers>("attention", {{AttentionNumbers::compute, "compute"},
                                                      {AttentionNumbers::eight_bit, "8bit"}});
}

}  // namespace rm
