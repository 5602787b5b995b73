#include "engine/data/tokens/mds_format.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::int64_t kVersion = 2;
constexpr std::int64_t kMostShardBytes = std::numeric_limits<std::uint32_t>::max();

template <typename... Args>
Error unimplemented(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::unimplemented, pattern, args...);
}

// Files lie beside the index.
Status check_name(const std::string& name) {
    if (!name.empty() && name.front() != '.' && name.find('/') == std::string::npos) return {};
    return data_loss("'basename' is \"{}\", not the name of a file beside the index", name);
}

Status read_file(JsonObject& shard, std::string_view key, std::string& name, std::int64_t& bytes) {
    const json* value = shard.member(key);
    if (value == nullptr) return {};
    JsonObject file = JsonObject::of_file(*value, std::string(key));
    RM_RETURN_IF_ERROR(file.require("basename", name).require("bytes", bytes).status());
    if (bytes < 0) return data_loss("'{}.bytes' is {}", key, bytes);
    return check_name(name);
}

Result<std::vector<MdsColumn>> read_columns(JsonObject& shard) {
    std::vector<std::string> names, encodings;
    RM_RETURN_IF_ERROR(
        shard.require("column_names", names).require("column_encodings", encodings).status());
    const json& sizes = shard.list("column_sizes");
    RM_RETURN_IF_ERROR(shard.status());
    if (names.size() != encodings.size() || names.size() != sizes.size()) {
        return data_loss("{} column names, {} encodings and {} sizes", names.size(),
                         encodings.size(), sizes.size());
    }
    std::vector<MdsColumn> columns;
    for (std::size_t i = 0; i < names.size(); ++i) {
        MdsColumn& column = columns.emplace_back(MdsColumn{names[i], encodings[i], {}});
        if (sizes[i].is_null()) continue;
        if (!JsonType<std::int64_t>::holds(sizes[i]))
            return data_loss("the size of column '{}' is {}", names[i], excerpt(sizes[i]));
        column.size = sizes[i].get<std::int64_t>();
        if (*column.size < 0 || *column.size > kMostShardBytes)
            return data_loss("the size of column '{}' is {}", names[i], *column.size);
    }
    return columns;
}

Result<MdsShard> read_shard(const json& value) {
    JsonObject object = JsonObject::of_file(value);
    MdsShard shard;
    std::string format;
    RM_RETURN_IF_ERROR(object.require("format", format).require("samples", shard.samples).status());
    if (format != "mds") return unimplemented("has the format '{}'; mds is read", format);
    if (shard.samples < 0) return data_loss("'samples' is {}", shard.samples);
    RM_TRY(shard.columns, read_columns(object));
    RM_RETURN_IF_ERROR(object.read("compression", shard.compression).status());
    shard.compression = shard.compression.substr(0, shard.compression.find(':'));  // its level
    if (!shard.compression.empty() && shard.compression != "zstd") {
        return unimplemented("is compressed with '{}'; zstd is read", shard.compression);
    }
    RM_RETURN_IF_ERROR(read_file(object, "raw_data", shard.raw_name, shard.raw_bytes));
    RM_RETURN_IF_ERROR(read_file(object, "zip_data", shard.zip_name, shard.zip_bytes));
    if (shard.raw_name.empty()) return data_loss("has no 'raw_data'");
    if (shard.compression.empty() != shard.zip_name.empty())
        return data_loss("has 'compression' without 'zip_data', or the reverse");
    if (shard.raw_bytes <= kMostShardBytes) return shard;
    return data_loss("'raw_data.bytes' is {}; offsets reach {}", shard.raw_bytes, kMostShardBytes);
}

template <typename T>
T number_at(std::span<const std::byte> bytes, std::int64_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// NumPy's types of whole numbers, by MDS's codes.
struct ArrayType {
    std::string_view name;
    std::uint8_t code;
    TokenDType dtype;
};
// A number of uint64 that is no id is negative as int64, and is refused as such.
constexpr std::array<ArrayType, 8> kArrayTypes = {{{"uint8", 8, TokenDType::u8},
                                                   {"int8", 9, TokenDType::i8},
                                                   {"uint16", 16, TokenDType::u16},
                                                   {"int16", 17, TokenDType::i16},
                                                   {"uint32", 32, TokenDType::u32},
                                                   {"int32", 33, TokenDType::i32},
                                                   {"uint64", 64, TokenDType::i64},
                                                   {"int64", 65, TokenDType::i64}}};

// "ndarray", "ndarray:int32" or "ndarray:int32:8,2".
struct ArrayEncoding {
    std::string_view type;              // empty: each array states it
    std::optional<std::int64_t> count;  // likewise nothing; the product of the shape
};
Result<ArrayEncoding> parse_encoding(std::string_view encoding) {
    const std::vector<std::string_view> parts = split(encoding, ':');
    if (parts.empty() || parts.size() > 3 || parts[0] != "ndarray")
        return unimplemented("is encoded as '{}'; ndarray is read", encoding);
    ArrayEncoding array;
    if (parts.size() > 1) array.type = parts[1];
    if (parts.size() < 3) return array;
    array.count = 1;
    for (const std::string_view size : split(parts[2], ',')) {
        const auto number = parse_count(size, Suffix::decimal);
        if (!number || *number < 0 || *number > kMostShardBytes)
            return data_loss("is encoded as '{}', whose shape is no list of sizes", encoding);
        *array.count *= *number;
        if (*array.count > kMostShardBytes) return data_loss("is encoded as '{}'", encoding);
    }
    return array;
}

template <typename Is>
Result<TokenDType> find_type(const Is& is, std::string_view text) {
    for (const ArrayType& type : kArrayTypes) {
        if (is(type)) return type.dtype;
    }
    return unimplemented("has numbers of type {}; whole numbers are read", text);
}

// Takes numbers off the beginning of a field.
class Head {
public:
    explicit Head(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::int64_t at() const { return at_; }

    Result<std::uint64_t> take(std::int64_t size) {
        if (at_ + size > std::ssize(bytes_)) return data_loss("ends within its header");
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + at_, usize(size));
        at_ += size;
        return value;
    }

private:
    std::span<const std::byte> bytes_;
    std::int64_t at_ = 0;
};

// One byte: dimensions times four, and the logarithm of the bytes of each of the sizes behind it.
Result<std::int64_t> take_count(Head& head, std::int64_t most) {
    RM_TRY(const std::uint64_t kind, head.take(1));
    const std::int64_t width = std::int64_t{1} << (kind & 3);
    std::uint64_t count = 1;
    for (std::uint64_t dims = kind >> 2; dims > 0; --dims) {
        RM_TRY(const std::uint64_t size, head.take(width));
        if (size > static_cast<std::uint64_t>(most))
            return data_loss("has a dimension of {}", size);
        count *= size;
        if (count > static_cast<std::uint64_t>(most)) return data_loss("has {} numbers", count);
    }
    return static_cast<std::int64_t>(count);
}

}  // namespace

Result<std::vector<MdsShard>> parse_mds_index(std::string_view text) {
    constexpr std::size_t kMostBytes = std::size_t{1} << 30;
    RM_TRY(const json value, parse_strict_json(text, kMostBytes));
    RM_TRY(const std::int64_t version, json_at<std::int64_t>(value, "version"));
    if (version != kVersion) return unimplemented("has version {}; {} is read", version, kVersion);
    RM_TRY(const json* list, list_at(value, "shards"));
    std::vector<MdsShard> shards;
    for (const json& item : *list) {
        RM_TRY(MdsShard shard, within(format("shard {}", shards.size()), read_shard(item)));
        shards.push_back(std::move(shard));
    }
    return shards;
}

std::int64_t mds_head_bytes(const MdsShard& shard) {
    std::int64_t bytes = 0;
    for (const MdsColumn& column : shard.columns)
        bytes += column.size ? 0 : 4;
    return bytes;
}

Result<std::vector<MdsField>> mds_fields(const MdsShard& shard, std::span<const std::byte> head,
                                         std::int64_t first, std::int64_t end) {
    std::vector<MdsField> fields;
    std::int64_t at = first + mds_head_bytes(shard), stated = 0;
    for (const MdsColumn& column : shard.columns) {
        const std::int64_t bytes =
            column.size ? *column.size : number_at<std::uint32_t>(head, 4 * stated++);
        fields.push_back({at, bytes});
        at += bytes;
    }
    if (at == end) return fields;
    return data_loss("takes {} bytes by its columns and {} by the offsets", at - first,
                     end - first);
}

Result<MdsArray> parse_mds_array(std::string_view encoding, std::span<const std::byte> head,
                                 std::int64_t field_bytes) {
    RM_TRY(const ArrayEncoding array, parse_encoding(encoding));
    MdsArray found;
    Head rest(head);
    if (array.type.empty()) {
        RM_TRY(const std::uint64_t code, rest.take(1));
        const auto is = [code](const ArrayType& type) { return type.code == code; };
        RM_TRY(found.dtype, find_type(is, format("{}", code)));
    } else {
        const auto is = [&](const ArrayType& type) { return type.name == array.type; };
        RM_TRY(found.dtype, find_type(is, array.type));
    }
    const std::int64_t size = size_of(found.dtype);
    if (array.count) {
        found.count = *array.count;
    } else {
        RM_TRY(found.count, take_count(rest, field_bytes));
    }
    found.first = rest.at();
    if (found.first + found.count * size == field_bytes) return found;
    return data_loss("has {} bytes; {} numbers of {} take {}", field_bytes, found.count,
                     to_string(found.dtype), found.first + found.count * size);
}

}  // namespace rm
