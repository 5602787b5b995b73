#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/tensor.h"

// The header of a safetensors file (github.com/huggingface/safetensors, format 0.4): eight bytes of
// little-endian length, a JSON object name -> {dtype, shape, data_offsets}, then the data without
// holes. The data starts at a multiple of 8.
namespace rm {

struct SafetensorsEntry {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0;  // bytes from the start of the data
    std::int64_t end = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries;  // ascending by `begin`
    std::int64_t data_start = 0;            // bytes from the start of the file
};

std::string_view safetensors_name(DType dtype);  // F64 F32 BF16 I32
Result<DType> parse_safetensors_dtype(std::string_view name);

// The length and the JSON, padded with spaces.
std::string encode_safetensors_header(std::span<const SafetensorsEntry> entries);

// Trusts nothing in the file: lengths are bounded by its size, entries must fill the data exactly.
// Errors (data_loss) do not name the file: the caller knows under which name it is known.
Result<SafetensorsHeader> read_safetensors_header(const std::string& path);

}  // namespace rm
