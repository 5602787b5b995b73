#include "engine/data/megatron_index.h"

#include <array>
#include <cstring>
#include <limits>
#include <optional>

namespace rm {
namespace {

constexpr std::array<char, 9> kMagic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderBytes = kMagic.size() + 8 + 1 + 8 + 8;

// NumPy types by Megatron's codes; nothing for those that are no whole numbers.
std::optional<TokenDType> dtype_of(std::uint8_t code) {
    constexpr std::array<TokenDType, 5> kFirst = {TokenDType::u8, TokenDType::i8, TokenDType::i16,
                                                  TokenDType::i32, TokenDType::i64};
    if (code >= 1 && code <= kFirst.size()) return kFirst[code - 1u];
    if (code == 8) return TokenDType::u16;
    return std::nullopt;
}

std::uint8_t code_of(TokenDType dtype) {
    std::uint8_t code = 1;
    while (dtype_of(code) != dtype) {
        RM_CHECK(code < 8, "Megatron has no code for {}", to_string(dtype));
        ++code;
    }
    return code;
}

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

struct Header {
    TokenDType dtype;
    std::size_t num_sequences = 0;
    std::size_t num_bounds = 0;  // of documents: one more than documents
};

Result<Header> parse_header(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeaderBytes ||
        std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
        return data_loss("is no Megatron index: it does not begin with MMIDIDX");
    }
    const auto version = number_at<std::uint64_t>(bytes, 9);
    if (version != kVersion) {
        return make_error(ErrorCode::unimplemented, "has version {}; {} is read", version,
                          kVersion);
    }
    const auto code = number_at<std::uint8_t>(bytes, 17);
    const auto dtype = dtype_of(code);
    if (!dtype) {
        return make_error(ErrorCode::unimplemented,
                          "stores tokens as type {}; whole numbers (1 to 5, 8) are read", code);
    }
    // 12 bytes a sequence and 8 a document bound both numbers before anything is multiplied.
    const auto sequences = number_at<std::uint64_t>(bytes, 18);
    const auto bounds = number_at<std::uint64_t>(bytes, 26);
    const std::uint64_t rest = bytes.size() - kHeaderBytes;
    if (sequences > rest / 12 || bounds > rest / 8 || sequences * 12 + bounds * 8 != rest) {
        return data_loss(
            "has {} bytes behind its header; {} sequences and {} document bounds need "
            "12 and 8 bytes each",
            rest, sequences, bounds);
    }
    return Header{*dtype, static_cast<std::size_t>(sequences), static_cast<std::size_t>(bounds)};
}

// The end of each sequence in tokens; sizes and pointers must say the same.
Result<std::vector<std::int64_t>> parse_sequences(std::span<const std::byte> bytes,
                                                  const Header& header) {
    std::vector<std::int64_t> ends{0};
    ends.reserve(header.num_sequences + 1);
    const std::size_t pointers = kHeaderBytes + 4 * header.num_sequences;
    for (std::size_t i = 0; i < header.num_sequences; ++i) {
        const auto size = number_at<std::int32_t>(bytes, kHeaderBytes + 4 * i);
        if (size < 0) return data_loss("sequence {} has {} tokens", i, size);
        const auto pointer = number_at<std::int64_t>(bytes, pointers + 8 * i);
        const std::int64_t expected = ends.back() * size_of(header.dtype);
        if (pointer != expected) {
            return data_loss("sequence {} begins at byte {}, the one before it ends at {}", i,
                             pointer, expected);
        }
        ends.push_back(ends.back() + size);
    }
    return ends;
}

}  // namespace

Result<MegatronIndex> parse_megatron_index(std::span<const std::byte> bytes) {
    RM_TRY(const Header header, parse_header(bytes));
    RM_TRY(const std::vector<std::int64_t> ends, parse_sequences(bytes, header));
    MegatronIndex index{header.dtype, {}};
    const std::size_t first = kHeaderBytes + 12 * header.num_sequences;
    std::int64_t previous = 0;
    for (std::size_t i = 0; i < header.num_bounds; ++i) {
        const auto bound = number_at<std::int64_t>(bytes, first + 8 * i);
        if (bound < previous || bound > static_cast<std::int64_t>(header.num_sequences) ||
            (i == 0 && bound != 0)) {
            return data_loss("document bound {} is {}; they rise from 0 to the {} sequences", i,
                             bound, header.num_sequences);
        }
        previous = bound;
        index.begins.push_back(ends[static_cast<std::size_t>(bound)]);
    }
    if (index.begins.empty()) return data_loss("has no document bounds, not even the first 0");
    if (previous == static_cast<std::int64_t>(header.num_sequences)) return index;
    return data_loss("the last document ends at sequence {} of {}", previous, header.num_sequences);
}

std::vector<std::byte> encode_megatron_index(TokenDType dtype,
                                             std::span<const std::int64_t> document_tokens) {
    std::vector<std::byte> bytes;
    const auto put = [&bytes](const auto value) {
        const auto* from = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof value);
    };
    const auto count = static_cast<std::uint64_t>(document_tokens.size());
    bytes.reserve(kHeaderBytes + 20 * document_tokens.size() + 8);
    for (const char letter : kMagic)
        put(letter);
    put(kVersion);
    put(code_of(dtype));
    put(count);
    put(count + 1);
    for (const std::int64_t tokens : document_tokens) {
        RM_CHECK(tokens <= std::numeric_limits<std::int32_t>::max(), "a document of {} tokens",
                 tokens);
        put(static_cast<std::int32_t>(tokens));
    }
    std::int64_t pointer = 0;
    for (const std::int64_t tokens : document_tokens) {
        put(pointer);
        pointer += tokens * size_of(dtype);
    }
    for (std::uint64_t i = 0; i <= count; ++i)
        put(static_cast<std::int64_t>(i));
    return bytes;
}

}  // namespace rm
