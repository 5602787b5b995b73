#include "engine/checkpoint/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"

namespace rm {
namespace {

using nlohmann::json;

struct StoredType {
    StorageType type;
    std::string_view name;
    std::int64_t bytes;
    std::optional<DType> memory;  // nothing: on disk only
};

// In the order of StorageType.
constexpr std::array<StoredType, 5> kStoredTypes = {{
    {StorageType::f64, "F64", 8, DType::f64},
    {StorageType::f32, "F32", 4, DType::f32},
    {StorageType::f16, "F16", 2, std::nullopt},
    {StorageType::bf16, "BF16", 2, DType::bf16},
    {StorageType::i32, "I32", 4, DType::i32},
}};

const StoredType& stored_as(StorageType type) {
    return kStoredTypes.at(usize(type));
}

// Bytes the shape describes, or -1 when they do not fit 63 bits.
std::int64_t bytes_of(const SafetensorsEntry& entry) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    std::int64_t bytes = size_of(entry.type);
    for (const std::int64_t size : entry.shape) {
        if (size > 0 && bytes > kMost / size) {
            // A later 0 makes the tensor empty after all.
            const bool nothing =
                std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
            return nothing ? 0 : -1;
        }
        bytes *= size;
    }
    return bytes;
}

Status check_entry(const SafetensorsEntry& entry, std::int64_t data_bytes) {
    const std::string name = shown_text(entry.name);
    if (entry.begin > entry.end || entry.end > data_bytes) {
        return data_loss("tensor {}: data_offsets [{}, {}] lie outside the {} bytes of data", name,
                         entry.begin, entry.end, data_bytes);
    }
    const std::int64_t held = entry.end - entry.begin;
    const std::int64_t described = bytes_of(entry);
    if (described == held) return {};
    const std::string takes =
        described < 0 ? std::string("2^63 bytes or more") : format("{} bytes", described);
    return data_loss("tensor {}: {} {} takes {}, its data_offsets [{}, {}] hold {}", name,
                     to_string(entry.type), shape_string(entry.shape), takes, entry.begin,
                     entry.end, held);
}

Status check_no_holes(const std::vector<SafetensorsEntry>& entries, std::int64_t data_bytes) {
    std::int64_t end = 0;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin != end) {
            return data_loss("tensor {} begins at byte {}, the one before it ends at {}",
                             shown_text(entry.name), entry.begin, end);
        }
        end = entry.end;
    }
    if (end == data_bytes) return {};
    return data_loss("the tensors end at byte {} of {} bytes of data", end, data_bytes);
}

Result<SafetensorsHeader> read_header(const FileReader& file) {
    std::array<std::byte, kSafetensorsLengthBytes> first{};
    const std::int64_t have = std::min(file.size(), kSafetensorsLengthBytes);
    const auto length = std::span(first).first(usize(have));
    RM_RETURN_IF_ERROR(file.read(0, length));
    RM_TRY(const std::int64_t header_bytes, safetensors_header_bytes(length, file.size()));
    std::string text(usize(header_bytes), ' ');
    RM_RETURN_IF_ERROR(file.read(kSafetensorsLengthBytes, std::as_writable_bytes(std::span(text))));
    const std::int64_t data_start = kSafetensorsLengthBytes + header_bytes;
    RM_TRY(SafetensorsHeader header, parse_safetensors_header(text, file.size() - data_start));
    header.data_start = data_start;
    return header;
}

}  // namespace

std::string_view to_string(StorageType type) {
    return stored_as(type).name;
}

Result<StorageType> parse_storage_type(std::string_view name) {
    for (const StoredType& stored : kStoredTypes) {
        if (stored.name == name) return stored.type;
    }
    return make_error(ErrorCode::unimplemented, "dtype {} is not one of F64, F32, F16, BF16, I32",
                      shown_text(name));
}

StorageType storage_of(DType dtype) {
    for (const StoredType& stored : kStoredTypes) {
        if (stored.memory == dtype) return stored.type;
    }
    return StorageType::f32;
}

Result<DType> memory_dtype(StorageType type) {
    if (const auto& dtype = stored_as(type).memory) return *dtype;
    return make_error(ErrorCode::unimplemented, "nothing computes in dtype {}", to_string(type));
}

std::int64_t size_of(StorageType type) {
    return stored_as(type).bytes;
}

std::string shape_string(const std::vector<std::int64_t>& shape) {
    constexpr std::size_t kMost = 8;
    return "[" + join(std::span(shape).first(std::min(shape.size(), kMost))) +
           (shape.size() > kMost ? format(", ... {} sizes]", shape.size()) : "]");
}

std::string encode_safetensors_header(std::span<const SafetensorsEntry> entries,
                                      const SafetensorsMetadata& metadata) {
    json root = {{"__metadata__", metadata}};
    for (const SafetensorsEntry& entry : entries) {
        root[entry.name] = {{"dtype", to_string(entry.type)},
                            {"shape", entry.shape},
                            {"data_offsets", {entry.begin, entry.end}}};
    }
    std::string text = root.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string header;
    for (int i = 0; i < kSafetensorsLengthBytes; ++i) {
        header.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xff));
    }
    return header + text;
}

Result<std::int64_t> safetensors_header_bytes(std::span<const std::byte> first_bytes,
                                              std::int64_t file_bytes) {
    if (file_bytes < kSafetensorsLengthBytes) {
        return data_loss("is {} bytes, too short for a safetensors header", file_bytes);
    }
    std::uint64_t header_bytes = 0;
    for (std::size_t i = 0; i < kSafetensorsLengthBytes; ++i) {
        header_bytes |= std::to_integer<std::uint64_t>(first_bytes[i]) << (8 * i);
    }
    const std::int64_t limit =
        std::min(kMaxSafetensorsHeaderBytes, file_bytes - kSafetensorsLengthBytes);
    if (header_bytes > static_cast<std::uint64_t>(limit)) {
        return data_loss("claims a header of {} bytes; at most {} fit", header_bytes, limit);
    }
    return static_cast<std::int64_t>(header_bytes);
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, std::int64_t data_bytes) {
    auto header = parse_safetensors_json(text);
    if (!header) {
        return Error{header.error().code, format("the header {}", header.error().message)};
    }
    for (const SafetensorsEntry& entry : header->entries) {
        RM_RETURN_IF_ERROR(check_entry(entry, data_bytes));
    }
    std::sort(header->entries.begin(), header->entries.end(), [](const auto& a, const auto& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    RM_RETURN_IF_ERROR(check_no_holes(header->entries, data_bytes));
    return header;
}

Result<SafetensorsHeader> read_safetensors_header(const std::string& path) {
    RM_TRY(const FileReader file, FileReader::open(path));
    return read_header(file);
}

SafetensorsFile::SafetensorsFile(FileReader reader, SafetensorsHeader header)
    : reader_(std::move(reader)), header_(std::move(header)) {
    for (std::size_t i = 0; i < header_.entries.size(); ++i)
        by_name_[header_.entries[i].name] = i;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
    RM_TRY(FileReader reader, FileReader::open(path));
    RM_TRY(SafetensorsHeader header, within(path, read_header(reader)));
    return SafetensorsFile(std::move(reader), std::move(header));
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &header_.entries[found->second];
}

Status SafetensorsFile::read(const SafetensorsEntry& entry, std::int64_t first,
                             std::span<std::byte> out) const {
    const auto end = first + static_cast<std::int64_t>(out.size());
    RM_CHECK(first >= 0 && end <= entry.end - entry.begin, "bytes [{}, {}) of the {} of {}", first,
             end, entry.end - entry.begin, entry.name);
    return reader_.read(header_.data_start + entry.begin + first, out);
}

}  // namespace rm
