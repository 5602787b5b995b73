#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// How a file of tokens stores one, little endian.
enum class TokenDType { u8, i8, i16, i32, i64, u16, u32 };

std::int64_t size_of(TokenDType dtype);
std::string_view to_string(TokenDType dtype);

// out.size() tokens from as many times size_of(dtype) bytes; data_loss for a number that is no
// TokenId, naming it and its place.
Status decode_tokens(std::span<const std::byte> bytes, TokenDType dtype, std::span<TokenId> out);

}  // namespace rm
