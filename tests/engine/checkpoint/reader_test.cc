#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/manifest.h"
#include "tests/engine/checkpoint/sample_state.h"

namespace rm {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kElements = 10 << 20;  // 40 MiB: two blocks and a half

void flip_byte(const std::string& path, std::int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(at);
    file.put(byte);
}

// A shard with one tensor of several blocks.
class ReadBlocks : public testing::Test {
protected:
    ReadBlocks() {
        Rng rng(7);
        state_["w"] = random_tensor(whole_tensor("w", DType::f32, {kElements}), rng);
        Faults none;
        const auto path = save(dir_.path(), {{1}, 5}, state_, none, 1);
        EXPECT_TRUE(path) << path.error().message;
        path_ = *path;
        shard_ = path_ + "/shard-00000-of-00001.safetensors";
    }
    Slice range(std::int64_t first, std::int64_t count) const {
        return element_range(state_.at("w").whole, first, count);
    }
    Status read(CheckpointReader& reader, const Slice& slice) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes(slice)));
        RM_RETURN_IF_ERROR(reader.read(slice, bytes));
        EXPECT_EQ(bytes, bytes_of(state_.at("w"), slice));
        return {};
    }
    std::int64_t byte_of_element(std::int64_t element) const {
        const auto file = static_cast<std::int64_t>(std::filesystem::file_size(shard_));
        return file - kElements * 4 + element * 4;
    }

    TempDir dir_;
    TestState state_;
    std::string path_;
    std::string shard_;
};

TEST_F(ReadBlocks, ReadsAndVerifiesTheBlocksOfItsSliceAlone) {
    const auto checkpoint = Checkpoint::open(path_, Verify::sizes);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    flip_byte(shard_, byte_of_element(kElements - 1));  // in the third block
    Activity activity;
    CheckpointReader reader(*checkpoint, {.activity = &activity});
    EXPECT_TRUE(read(reader, range(0, 5 << 20)));
    EXPECT_EQ(reader.bytes_read(), 2 * kHashBlockBytes) << "20 MiB lie in two blocks";
    EXPECT_EQ(activity.done, reader.bytes_read());
    const Status damaged = read(reader, range(9 << 20, 16));
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().code, ErrorCode::data_loss);
    EXPECT_THAT(damaged.error().message,
                HasSubstr("shard-00000-of-00001.safetensors is damaged: block 2 of w has hash "));
}

TEST_F(ReadBlocks, PiecesOfABlockReadItOnce) {
    const auto checkpoint = Checkpoint::open(path_, Verify::sizes);
    CheckpointReader reader(*checkpoint);
    for (std::int64_t first = 0; first < 4 << 20; first += 1 << 18)
        ASSERT_TRUE(read(reader, range(first, 1 << 18)));
    EXPECT_EQ(reader.bytes_read(), kHashBlockBytes);
}

TEST_F(ReadBlocks, EndsWhenNobodyWaits) {
    const auto checkpoint = Checkpoint::open(path_, Verify::sizes);
    Activity activity;
    activity.cancelled = true;
    CheckpointReader reader(*checkpoint, {.activity = &activity});
    EXPECT_EQ(read(reader, range(0, 16)).error().code, ErrorCode::cancelled);
}

// Builds before block hashes wrote such manifests; the reader must use the file's own hash.
TEST_F(ReadBlocks, VerifiesAWholeFileOnceWhereThereAreNoHashesOfBlocks) {
    const std::string manifest_path = path_ + "/manifest.json";
    Manifest manifest = parse_manifest(read_text(manifest_path)).value();
    manifest.shards[0].block_bytes = 0;
    manifest.shards[0].slices[0].block_hashes.clear();
    write_text(manifest_path, encode_manifest(manifest));
    const auto checkpoint = Checkpoint::open(path_, Verify::sizes);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    CheckpointReader reader(*checkpoint);
    ASSERT_TRUE(read(reader, range(0, 16)));
    ASSERT_TRUE(read(reader, range(16, 16)));
    EXPECT_EQ(reader.bytes_read(), manifest.shards[0].bytes + kHashBlockBytes);
    flip_byte(shard_, byte_of_element(kElements - 1));
    CheckpointReader another(*checkpoint);
    EXPECT_THAT(read(another, range(0, 16)).error().message, HasSubstr("has hash"));
}

TEST(BlockHashes, DoNotDependOnThePieces) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(kHashBlockBytes) + 1000);
    Rng rng(3);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(rng());
    BlockHashes whole;
    whole.update(bytes);
    BlockHashes pieces;
    for (std::size_t at = 0; at < bytes.size(); at += 999'983)
        pieces.update(
            std::span(bytes).subspan(at, std::min<std::size_t>(999'983, bytes.size() - at)));
    const std::vector<std::string> hashes = whole.finish();
    ASSERT_EQ(hashes.size(), 2u);
    EXPECT_EQ(pieces.finish(), hashes);
    Xxh3 last;
    last.update(std::span(bytes).last(1000));
    EXPECT_EQ(hashes[1], last.hex());
}

}  // namespace
}  // namespace rm
