#include "engine/data/tokens/token_formats.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

namespace rm {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

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

struct StoredType {
    std::string_view name;
    std::int64_t bytes;
    Status (*decode)(std::span<const std::byte>, std::span<TokenId>);
};

template <typename Stored>
constexpr StoredType stored(std::string_view name) {
    return {name, sizeof(Stored), convert<Stored>};
}

// In the order of TokenDType.
constexpr std::array<StoredType, 7> kStoredTypes = {
    stored<std::uint8_t>("uint8"),   stored<std::int8_t>("int8"),   stored<std::int16_t>("int16"),
    stored<std::int32_t>("int32"),   stored<std::int64_t>("int64"), stored<std::uint16_t>("uint16"),
    stored<std::uint32_t>("uint32"),
};

const StoredType& stored_as(TokenDType dtype) {
    return kStoredTypes.at(usize(dtype));
}

// A kind of llm.c file.
struct LlmcKind {
    std::int32_t magic;
    std::int32_t version;
    TokenDType dtype;
};
constexpr std::array<LlmcKind, 2> kLlmcKinds = {
    {{20240520, 1, TokenDType::u16}, {20240801, 7, TokenDType::u32}}};

std::int32_t field(std::span<const std::byte> head, std::size_t index) {
    std::int32_t value = 0;
    std::memcpy(&value, head.data() + 4 * index, 4);
    return value;
}

const LlmcKind* kind_of(std::span<const std::byte> head) {
    if (head.size() < 4) return nullptr;
    for (const LlmcKind& kind : kLlmcKinds) {
        if (field(head, 0) == kind.magic) return &kind;
    }
    return nullptr;
}

constexpr std::array<char, 9> kMagic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderBytes = kMagic.size() + 8 + 1 + 8 + 8;

// Maps Megatron's codes of NumPy types; nothing for types other than whole numbers.
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
    return Header{*dtype, usize(sequences), usize(bounds)};
}

// Returns the end of each sequence in tokens; checks that sizes and pointers agree.
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

std::int64_t size_of(TokenDType dtype) {
    return stored_as(dtype).bytes;
}

std::string_view to_string(TokenDType dtype) {
    return stored_as(dtype).name;
}

Status decode_tokens(std::span<const std::byte> bytes, TokenDType dtype, std::span<TokenId> out) {
    return stored_as(dtype).decode(bytes, out);
}

bool is_llmc(std::span<const std::byte> head) {
    return kind_of(head) != nullptr;
}

Result<LlmcHeader> parse_llmc_header(std::span<const std::byte> head, std::int64_t file_bytes) {
    const LlmcKind* kind = kind_of(head);
    if (kind == nullptr || std::ssize(head) < LlmcHeader::kBytes) {
        return data_loss(
            "is no token file of llm.c: it does not begin with 1024 bytes of header "
            "and the number {} or {}",
            kLlmcKinds[0].magic, kLlmcKinds[1].magic);
    }
    if (field(head, 1) != kind->version) {
        return make_error(ErrorCode::unimplemented, "has version {}; {} is read for {}",
                          field(head, 1), kind->version, kind->magic);
    }
    const std::int64_t tokens = field(head, 2);
    const std::int64_t expected = LlmcHeader::kBytes + tokens * size_of(kind->dtype);
    if (tokens < 0 || file_bytes != expected) {
        return data_loss("has {} bytes; its header names {} tokens of {}, which take {}",
                         file_bytes, tokens, to_string(kind->dtype), expected);
    }
    return LlmcHeader{kind->dtype, tokens};
}

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
        index.begins.push_back(ends[usize(bound)]);
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
