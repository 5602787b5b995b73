#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "engine/data/tokens/mds_tokens.h"
#include "tests/support/temp_dir.h"

// The input is an index.json, a zero byte, and the bytes of its first shard, cut or filled up to
// the length that the index states. Every document of an accepted set can be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    constexpr std::int64_t kMostBytes = 1 << 20;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(input.find('\0'), size);
    const auto shards = parse_mds_index(input.substr(0, end));
    if (!shards || shards->empty() || shards->front().raw_bytes > kMostBytes) return 0;
    std::string raw(input.substr(std::min(end + 1, size)));
    raw.resize(static_cast<std::size_t>(shards->front().raw_bytes));
    const TempDir directory;
    if (shards->front().raw_name == kMdsIndexFile) return 0;
    directory.write(kMdsIndexFile, input.substr(0, end));
    directory.write(shards->front().raw_name, raw);
    const auto tokens = MdsTokens::open(directory.path(), {directory.path()});
    if (!tokens) return 0;
    const auto reader = (*tokens)->make_reader();
    std::vector<TokenId> ids;
    for (std::int64_t i = 0; i < (*tokens)->num_documents(); ++i) {
        ids.resize(static_cast<std::size_t>((*tokens)->num_tokens(i)));
        const Status read = reader->read(i, 0, ids);
        if (!read && read.error().code != ErrorCode::data_loss) abort();
    }
    return 0;
}
