#include "engine/data/llmc_header.h"

#include <array>
#include <cstring>

namespace rm {
namespace {

struct Kind {
    std::int32_t magic;
    std::int32_t version;
    TokenDType dtype;
};
constexpr std::array<Kind, 2> kKinds = {
    {{20240520, 1, TokenDType::u16}, {20240801, 7, TokenDType::u32}}};

std::int32_t field(std::span<const std::byte> head, std::size_t index) {
    std::int32_t value = 0;
    std::memcpy(&value, head.data() + 4 * index, 4);
    return value;
}

const Kind* kind_of(std::span<const std::byte> head) {
    if (head.size() < 4) return nullptr;
    for (const Kind& kind : kKinds) {
        if (field(head, 0) == kind.magic) return &kind;
    }
    return nullptr;
}

}  // namespace

bool is_llmc(std::span<const std::byte> head) {
    return kind_of(head) != nullptr;
}

Result<LlmcHeader> parse_llmc_header(std::span<const std::byte> head, std::int64_t file_bytes) {
    const Kind* kind = kind_of(head);
    if (kind == nullptr || std::ssize(head) < LlmcHeader::kBytes) {
        return data_loss(
            "is no token file of llm.c: it does not begin with 1024 bytes of header "
            "and the number {} or {}",
            kKinds[0].magic, kKinds[1].magic);
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

}  // namespace rm
