#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/data/tokens/token_formats.h"

// The bytes of MosaicML's MDS format, version 2 (streaming/base/format/mds; docs/formats/data.md).
// Errors are data_loss, unimplemented for what the format allows and this reader does not have;
// they name no file.
namespace rm {

constexpr std::string_view kMdsIndexFile = "index.json";

struct MdsColumn {
    std::string name;
    std::string encoding;
    std::optional<std::int64_t> size;  // bytes, of every sample; nothing: each states its own
};

// A file of samples, as it lies on the disk: as it is, or compressed, or both.
struct MdsShard {
    std::vector<MdsColumn> columns;  // in the order of their bytes
    std::int64_t samples = 0;
    std::string raw_name;
    std::int64_t raw_bytes = 0;
    std::string compression;  // zstd; empty: none
    std::string zip_name;
    std::int64_t zip_bytes = 0;
};

Result<std::vector<MdsShard>> parse_mds_index(std::string_view text);

// Where the bytes of each column of one sample lie in its shard.
struct MdsField {
    std::int64_t first = 0;
    std::int64_t bytes = 0;
};
// `head`: the sizes of columns that have none of their own, from the sample's first byte on; the
// sample lies at [first, end) of the shard.
Result<std::vector<MdsField>> mds_fields(const MdsShard& shard, std::span<const std::byte> head,
                                         std::int64_t first, std::int64_t end);
// The bytes of such a head.
std::int64_t mds_head_bytes(const MdsShard& shard);

// A list of whole numbers within a field of `ndarray`, its shape dropped.
struct MdsArray {
    TokenDType dtype = TokenDType::i32;
    std::int64_t first = 0;  // of its values, from the beginning of the field
    std::int64_t count = 0;
};
constexpr std::int64_t kMdsArrayHead = 2 + 8 * 63;  // bytes, the longest
// `head`: the field's first bytes, kMdsArrayHead of them where it has as many.
Result<MdsArray> parse_mds_array(std::string_view encoding, std::span<const std::byte> head,
                                 std::int64_t field_bytes);

}  // namespace rm
