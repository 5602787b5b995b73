#include "engine/data/token_dtype.h"

#include <bit>
#include <cstring>
#include <limits>

namespace rm {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they lie");

template <typename Stored>
Status convert(std::span<const std::byte> bytes, std::span<TokenId> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored value{};
        std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
        if constexpr (sizeof(Stored) == 8 || std::is_same_v<Stored, std::uint32_t>) {
            if (static_cast<std::int64_t>(value) > std::numeric_limits<TokenId>::max() ||
                static_cast<std::int64_t>(value) < 0) {
                return data_loss("token {} there is {}, not an id", i, value);
            }
        }
        out[i] = static_cast<TokenId>(value);
    }
    return {};
}

}  // namespace

std::int64_t size_of(TokenDType dtype) {
    switch (dtype) {
        case TokenDType::u8:
        case TokenDType::i8:
            return 1;
        case TokenDType::i16:
        case TokenDType::u16:
            return 2;
        case TokenDType::i32:
        case TokenDType::u32:
            return 4;
        case TokenDType::i64:
            return 8;
    }
    return 0;
}

std::string_view to_string(TokenDType dtype) {
    switch (dtype) {
        case TokenDType::u8:
            return "uint8";
        case TokenDType::i8:
            return "int8";
        case TokenDType::i16:
            return "int16";
        case TokenDType::i32:
            return "int32";
        case TokenDType::i64:
            return "int64";
        case TokenDType::u16:
            return "uint16";
        case TokenDType::u32:
            return "uint32";
    }
    return "?";
}

Status decode_tokens(std::span<const std::byte> bytes, TokenDType dtype, std::span<TokenId> out) {
    switch (dtype) {
        case TokenDType::u8:
            return convert<std::uint8_t>(bytes, out);
        case TokenDType::i8:
            return convert<std::int8_t>(bytes, out);
        case TokenDType::i16:
            return convert<std::int16_t>(bytes, out);
        case TokenDType::i32:
            return convert<std::int32_t>(bytes, out);
        case TokenDType::i64:
            return convert<std::int64_t>(bytes, out);
        case TokenDType::u16:
            return convert<std::uint16_t>(bytes, out);
        case TokenDType::u32:
            return convert<std::uint32_t>(bytes, out);
    }
    return {};
}

}  // namespace rm
