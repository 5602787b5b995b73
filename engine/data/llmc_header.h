#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/data/token_dtype.h"

namespace rm {

// The head of a token file of llm.c (dev/data/data_common.py): 256 int32, little endian, of which
// the first three say magic, version and number of tokens. 20240520 version 1 stores uint16
// (GPT-2), 20240801 version 7 uint32 (Llama 3).
struct LlmcHeader {
    static constexpr std::int64_t kBytes = 1024;
    TokenDType dtype = TokenDType::u16;
    std::int64_t num_tokens = 0;
};

bool is_llmc(std::span<const std::byte> head);

// `file_bytes`: of the whole file, which must be just what the header says.
Result<LlmcHeader> parse_llmc_header(std::span<const std::byte> head, std::int64_t file_bytes);

}  // namespace rm
