#include "engine/checkpoint/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "engine/data/json_fields.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr std::array<DType, 4> kDTypes = {DType::f64, DType::f32, DType::bf16, DType::i32};

template <typename... Args>
Error broken(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::data_loss, pattern, args...);
}

// Bytes the shape describes, or -1 when it describes more than `limit`.
std::int64_t bytes_of(const SafetensorsEntry& entry, std::int64_t limit) {
    std::int64_t bytes = size_of(entry.dtype);
    for (const std::int64_t size : entry.shape) {
        if (size < 0 || (size > 0 && bytes > limit / size)) return -1;
        bytes *= size;
    }
    return bytes;
}

Result<SafetensorsEntry> parse_entry(const std::string& name, const json& value,
                                     std::int64_t data_bytes) {
    SafetensorsEntry entry{.name = name};
    RM_TRY(const std::string dtype, string_at(value, "dtype"));
    RM_TRY(entry.dtype, parse_safetensors_dtype(dtype));
    RM_TRY(entry.shape, integers_at(value, "shape"));
    RM_TRY(const std::vector<std::int64_t> offsets, integers_at(value, "data_offsets"));
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[0] > offsets[1] ||
        offsets[1] > data_bytes) {
        return broken("entry {}: its offsets lie outside the {} bytes of data", name, data_bytes);
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (bytes_of(entry, data_bytes) != entry.end - entry.begin) {
        return broken("entry {}: its offsets hold {} bytes, its shape another number", name,
                      entry.end - entry.begin);
    }
    return entry;
}

Status check_no_holes(const std::vector<SafetensorsEntry>& entries, std::int64_t data_bytes) {
    std::int64_t end = 0;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin != end) {
            return broken("entry {} begins at byte {}, the one before it ends at {}", entry.name,
                          entry.begin, end);
        }
        end = entry.end;
    }
    if (end == data_bytes) return {};
    return broken("the entries end at byte {} of {} bytes of data", end, data_bytes);
}

Result<SafetensorsHeader> parse_header(std::string_view text, std::int64_t data_bytes) {
    RM_TRY(const json root, parse_json(text));
    if (!root.is_object()) return broken("the header is not a JSON object");
    SafetensorsHeader header;
    for (const auto& [name, value] : root.items()) {
        if (name == "__metadata__") continue;
        RM_TRY(SafetensorsEntry entry, parse_entry(name, value, data_bytes));
        header.entries.push_back(std::move(entry));
    }
    std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    RM_RETURN_IF_ERROR(check_no_holes(header.entries, data_bytes));
    return header;
}

}  // namespace

std::string_view safetensors_name(DType dtype) {
    switch (dtype) {
        case DType::f64:
            return "F64";
        case DType::f32:
            return "F32";
        case DType::bf16:
            return "BF16";
        case DType::i32:
            return "I32";
    }
    return "?";
}

Result<DType> parse_safetensors_dtype(std::string_view name) {
    for (const DType dtype : kDTypes) {
        if (safetensors_name(dtype) == name) return dtype;
    }
    return make_error(ErrorCode::unimplemented, "dtype '{}' is not one of F64, F32, BF16, I32",
                      name);
}

std::string encode_safetensors_header(std::span<const SafetensorsEntry> entries) {
    json root = {{"__metadata__", {{"format", "ringmaster-checkpoint"}}}};
    for (const SafetensorsEntry& entry : entries) {
        root[entry.name] = {{"dtype", safetensors_name(entry.dtype)},
                            {"shape", entry.shape},
                            {"data_offsets", {entry.begin, entry.end}}};
    }
    std::string text = root.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string header;
    for (int i = 0; i < kLengthBytes; ++i) {
        header.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xff));
    }
    return header + text;
}

Result<SafetensorsHeader> read_safetensors_header(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return broken("cannot be read: {}", std::generic_category().message(errno));
    const auto file_bytes = static_cast<std::int64_t>(file.tellg());
    file.seekg(0);
    std::array<unsigned char, kLengthBytes> length{};
    if (!file.read(reinterpret_cast<char*>(length.data()), kLengthBytes)) {
        return broken("is {} bytes, too short for a safetensors header", file_bytes);
    }
    std::uint64_t header_bytes = 0;
    for (std::size_t i = 0; i < length.size(); ++i) {
        header_bytes |= std::uint64_t{length[i]} << (8 * i);
    }
    const std::int64_t limit = std::min(kMaxHeaderBytes, file_bytes - kLengthBytes);
    if (header_bytes > static_cast<std::uint64_t>(limit)) {
        return broken("claims a header of {} bytes; at most {} fit", header_bytes, limit);
    }
    std::string text(header_bytes, ' ');
    if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
        return broken("ends inside its header");
    }
    const std::int64_t data_start = kLengthBytes + static_cast<std::int64_t>(header_bytes);
    RM_TRY(SafetensorsHeader header, parse_header(text, file_bytes - data_start));
    header.data_start = data_start;
    return header;
}

}  // namespace rm
