#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/durable_file.h"
#include "kernels/tensor.h"

// Safetensors files (github.com/huggingface/safetensors, format 0.4): eight bytes of little-endian
// length, a JSON object name -> {dtype, shape, data_offsets}, then the data without holes.
// Checkpoint shards and Hugging Face directories both use this reader and writer.
namespace rm {

// Element types on disk. F16 exists only there.
enum class StorageType { f64, f32, f16, bf16, i32 };
std::string_view to_string(StorageType type);  // F64 F32 F16 BF16 I32
Result<StorageType> parse_storage_type(std::string_view name);
StorageType storage_of(DType dtype);
Result<DType> memory_dtype(StorageType type);  // unimplemented: F16
std::int64_t size_of(StorageType type);        // bytes

struct SafetensorsEntry {
    std::string name;
    StorageType type = StorageType::f32;
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0;  // bytes from the start of the data
    std::int64_t end = 0;
};
std::string shape_string(const std::vector<std::int64_t>& shape);  // [2, 3]

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries;  // ascending by `begin`
    SafetensorsMetadata metadata;
    std::int64_t data_start = 0;  // bytes from the start of the file
};

// The length and the JSON, padded with spaces to a multiple of 8.
std::string encode_safetensors_header(std::span<const SafetensorsEntry> entries,
                                      const SafetensorsMetadata& metadata);

constexpr std::int64_t kSafetensorsLengthBytes = 8;
// The reference implementation's limit on the JSON.
constexpr std::int64_t kMaxSafetensorsHeaderBytes = 100'000'000;

// The header's size from a file's first eight bytes, checked against the file's size and the limit.
Result<std::int64_t> safetensors_header_bytes(std::span<const std::byte> first_bytes,
                                              std::int64_t file_bytes);

// Parses the JSON alone: entries in the text's order, offsets not yet checked against each other or
// the data. Reads event by event without building a tree, so the memory is that of the result, and
// nesting costs nothing.
Result<SafetensorsHeader> parse_safetensors_json(std::string_view text);

// Trusts nothing in the text: checks that names are unique, types known, shapes
// valid and entries fill `data_bytes` exactly. Its memory is a small multiple of the text's. Errors
// (data_loss) name tensor, value and what would be right, not the file.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, std::int64_t data_bytes);

Result<SafetensorsHeader> read_safetensors_header(const std::string& path);

// A file open for reading. Errors name it.
class SafetensorsFile {
public:
    static Result<SafetensorsFile> open(const std::string& path);

    const std::string& path() const { return reader_.path(); }
    const SafetensorsHeader& header() const { return header_; }
    const SafetensorsEntry* find(std::string_view name) const;  // nullptr: not there
    // Bytes [first, first + out.size()) of an entry's data. Const and thread safe.
    Status read(const SafetensorsEntry& entry, std::int64_t first, std::span<std::byte> out) const;

private:
    SafetensorsFile(FileReader reader, SafetensorsHeader header);

    FileReader reader_;
    SafetensorsHeader header_;
    std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace rm
