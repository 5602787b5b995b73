#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/data/token_dtype.h"

namespace rm {

// The `.idx` of a Megatron-LM indexed data set, version 1 (megatron/core/datasets/
// indexed_dataset.py; docs/formats/data.md has the bytes): where the documents of the `.bin` beside
// it begin. A document is a run of sequences, and those lie one behind the other.
struct MegatronIndex {
    TokenDType dtype = TokenDType::i32;
    std::vector<std::int64_t> begins;  // tokens; of each document, and the end of the last

    std::int64_t num_documents() const { return std::ssize(begins) - 1; }
    std::int64_t num_tokens() const { return begins.back(); }
};

// Reads and checks all of `bytes`; allocates no more than a few times their size. data_loss names
// the field, its value and what would be right; unimplemented for another version or floating
// point.
Result<MegatronIndex> parse_megatron_index(std::span<const std::byte> bytes);

// The same bytes as Megatron's writer, one sequence per document.
std::vector<std::byte> encode_megatron_index(TokenDType dtype,
                                             std::span<const std::int64_t> document_tokens);

}  // namespace rm
