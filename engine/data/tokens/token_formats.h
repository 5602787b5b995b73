#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// How a file stores a token, little endian.
enum class TokenDType { u8, i8, i16, i32, i64, u16, u32 };

std::int64_t size_of(TokenDType dtype);
std::string_view to_string(TokenDType dtype);

// Decodes out.size() tokens of size_of(dtype) bytes each; data_loss names a number that is no
// TokenId and its place.
Status decode_tokens(std::span<const std::byte> bytes, TokenDType dtype, std::span<TokenId> out);

// The head of a token file of llm.c (dev/data/data_common.py): 256 int32, little endian, of which
// the first three say magic, version and number of tokens. 20240520 version 1 stores uint16
// (GPT-2), 20240801 version 7 uint32 (Llama 3).
struct LlmcHeader {
    static constexpr std::int64_t kBytes = 1024;
    TokenDType dtype = TokenDType::u16;
    std::int64_t num_tokens = 0;
};

bool is_llmc(std::span<const std::byte> head);

// `file_bytes`, the size of the whole file, must match the header.
Result<LlmcHeader> parse_llmc_header(std::span<const std::byte> head, std::int64_t file_bytes);

// The `.idx` of a Megatron-LM indexed data set, version 1 (megatron/core/datasets/
// indexed_dataset.py; docs/formats/data.md has the bytes): where the documents of the `.bin` beside
// it begin. A document is a run of consecutive sequences.
struct MegatronIndex {
    TokenDType dtype = TokenDType::i32;
    std::vector<std::int64_t> begins;  // tokens; of each document, and the end of the last

    std::int64_t num_documents() const { return std::ssize(begins) - 1; }
    std::int64_t num_tokens() const { return begins.back(); }
};

// Reads and checks all of `bytes`; allocates at most a few times their size. data_loss names the
// field, its value and what would be right; unimplemented: another version or floating point.
Result<MegatronIndex> parse_megatron_index(std::span<const std::byte> bytes);

// Writes the same bytes as Megatron's writer, one sequence per document.
std::vector<std::byte> encode_megatron_index(TokenDType dtype,
                                             std::span<const std::int64_t> document_tokens);

}  // namespace rm
