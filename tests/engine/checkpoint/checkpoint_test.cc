#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <set>
#include <thread>

#include "engine/checkpoint/checkpoint_reader.h"
#include "tests/engine/checkpoint/latest.h"
#include "tests/engine/checkpoint/sample_state.h"

namespace rm {
namespace {

using testing::HasSubstr;

// Cuts the tensor along one dim and each part into ranges, and deals the pieces out to the shards.
void deal(const TestTensor& tensor, Rng& rng, std::vector<std::vector<Slice>>& shards) {
    Slice part = tensor.whole;
    if (!part.shape.empty()) {
        part.split_dim = static_cast<std::int64_t>(rng.below(part.shape.size()));
        part.split_count = 1 + static_cast<std::int64_t>(rng.below(4));
    }
    for (part.split_index = 0; part.split_index < part.split_count; ++part.split_index) {
        const std::int64_t elements = part_elements(part);
        for (std::int64_t first = 0; first < elements;) {
            const auto left = static_cast<std::uint64_t>(elements - first);
            const auto count = 1 + static_cast<std::int64_t>(rng.below(left));
            shards[rng.below(shards.size())].push_back(element_range(part, first, count));
            first += count;
        }
    }
}

void write_dealt(const std::string& dir, const CheckpointName& name, const TestState& state,
                 Rng& rng) {
    Faults none;
    std::vector<std::vector<Slice>> shards(1 + rng.below(5));
    for (const auto& [tensor_name, tensor] : state)
        deal(tensor, rng, shards);
    const std::string temp_dir = begin_checkpoint(dir, name, none).value();
    const auto num_shards = static_cast<int>(shards.size());
    for (int i = 0; i < num_shards; ++i) {
        std::vector<std::vector<std::byte>> bytes;
        std::vector<SliceData> slices;
        for (const Slice& slice : shards[static_cast<std::size_t>(i)]) {
            bytes.push_back(bytes_of(state.at(slice.tensor), slice));
            slices.push_back({slice, bytes.back()});  // a moved vector keeps its memory
        }
        ASSERT_TRUE(write_shard(temp_dir, i, num_shards, slices, none));
    }
    const auto path = publish_checkpoint(dir, name, num_shards, {}, none);
    ASSERT_TRUE(path) << path.error().message;
}

TEST(Checkpoint, GivesAnySliceBackFromAnySlices) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(format("seed {}", seed));
        TempDir dir;
        Rng rng(seed);
        const TestState state = random_state(seed);
        write_dealt(dir.path(), {{1}, 5}, state, rng);
        expect_holds(dir / "e1-s5", state);
        const auto checkpoint = Checkpoint::open(dir / "e1-s5", Verify::sizes);
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        for (const auto& [name, tensor] : state) {
            for (int i = 0; i < 10; ++i) {
                const Slice slice = random_slice(tensor.whole, rng);
                std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes(slice)));
                ASSERT_TRUE(CheckpointReader(*checkpoint).read(slice, bytes));
                EXPECT_EQ(bytes, bytes_of(tensor, slice)) << to_string(slice);
            }
        }
    }
}

// Reads a tensor larger than the reader's window, in both directions across the cut.
TEST(Checkpoint, ReadsLargeTensorsAcrossTheGrain) {
    TempDir dir;
    Rng rng(1);
    Faults none;
    TestState state;
    state["w"] = random_tensor(whole_tensor("w", DType::f32, {600, 300}), rng);
    for (const std::int64_t dim : {0, 1}) {
        Slice part = state["w"].whole;
        part.split_dim = dim;
        part.split_count = 3;
        part.count = part_elements(part);
        const CheckpointName name{{1}, dim};
        const std::string temp_dir = begin_checkpoint(dir.path(), name, none).value();
        for (part.split_index = 0; part.split_index < 3; ++part.split_index) {
            const auto bytes = bytes_of(state["w"], part);
            const SliceData data[] = {{part, bytes}};
            ASSERT_TRUE(write_shard(temp_dir, static_cast<int>(part.split_index), 3, data, none));
        }
        const auto path = publish_checkpoint(dir.path(), name, 3, {}, none);
        ASSERT_TRUE(path) << path.error().message;
        expect_holds(*path, state);
        Slice columns = state["w"].whole;
        columns.split_dim = 1;
        columns.split_count = 7;
        columns.split_index = 4;
        columns.count = part_elements(columns);
        std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes(columns)));
        const auto checkpoint = Checkpoint::open(*path, Verify::sizes);
        ASSERT_TRUE(CheckpointReader(*checkpoint).read(columns, bytes));
        EXPECT_EQ(bytes, bytes_of(state["w"], columns));
    }
}

TEST(Checkpoint, KeepsTheTrainersStateAndItsName) {
    TempDir dir;
    Faults none;
    const std::string temp_dir = begin_checkpoint(dir.path(), {{2}, 7}, none).value();
    ASSERT_TRUE(write_shard(temp_dir, 0, 1, {}, none));
    const nlohmann::json state = {{"data", {{"epoch", 3}}}, {"learning_rate", 1e-4}};
    const auto path = publish_checkpoint(dir.path(), {{2}, 7}, 1, state, none);
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(*path, dir / "e2-s7");
    const auto checkpoint = Checkpoint::open(*path, Verify::hashes);
    EXPECT_EQ(checkpoint->state(), state);
    EXPECT_EQ(checkpoint->name(), (CheckpointName{{2}, 7}));
    EXPECT_TRUE(checkpoint->tensors().empty());
}

TEST(Checkpoint, HoldsShardsAndAManifestAndNothingElse) {
    TempDir dir;
    save_or_fail(dir.path(), {{1}, 1}, random_state(1));
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir / "e1-s1")) {
        files.insert(entry.path().filename().string());
    }
    EXPECT_THAT(files, testing::ElementsAre("manifest.json", "shard-00000-of-00002.safetensors",
                                            "shard-00001-of-00002.safetensors"));
}

TEST(Checkpoint, IsTheSameBytesEveryTime) {
    TempDir dir;
    const TestState state = random_state(1);
    save_or_fail(dir / "a", {{1}, 1}, state);
    save_or_fail(dir / "b", {{1}, 1}, state);
    for (const char* file : {"manifest.json", "shard-00001-of-00002.safetensors"}) {
        EXPECT_EQ(read_text(dir / format("a/e1-s1/{}", file)),
                  read_text(dir / format("b/e1-s1/{}", file)));
    }
}

TEST(Checkpoint, NamesWhatItDoesNotHold) {
    TempDir dir;
    save_or_fail(dir.path(), {{1}, 1}, random_state(1));
    const auto checkpoint = Checkpoint::open(dir / "e1-s1", Verify::hashes);
    std::vector<std::byte> bytes(4 * 17 * 8);
    const Status unknown =
        CheckpointReader(*checkpoint).read(whole_tensor("wq", DType::f32, {17, 8}), bytes);
    EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
    EXPECT_THAT(unknown.error().message, HasSubstr("no tensor wq"));
    const Status reshaped =
        CheckpointReader(*checkpoint).read(whole_tensor("embedding", DType::f32, {8, 17}), bytes);
    EXPECT_EQ(reshaped.error().code, ErrorCode::failed_precondition);
    EXPECT_THAT(reshaped.error().message, HasSubstr("stores embedding (17, 8) f32"));
    EXPECT_THAT(reshaped.error().message, HasSubstr("asked for embedding (8, 17) f32"));
    EXPECT_FALSE(
        CheckpointReader(*checkpoint).read(whole_tensor("embedding", DType::i32, {17, 8}), bytes));
}

TEST(Checkpoint, OpenNamesThePathAndTheFault) {
    TempDir dir;
    const auto checkpoint = Checkpoint::open(dir / "e1-s1", Verify::hashes);
    ASSERT_FALSE(checkpoint);
    EXPECT_THAT(checkpoint.error().message, HasSubstr(dir / "e1-s1/manifest.json"));
}

TEST(Writer, IsNotPublishedWithoutEveryShard) {
    TempDir dir;
    Faults none;
    const TestState state = random_state(1);
    const std::string temp_dir = begin_checkpoint(dir.path(), {{1}, 1}, none).value();
    ASSERT_TRUE(write_share(temp_dir, state, 0, 2, none));
    const auto path = publish_checkpoint(dir.path(), {{1}, 1}, 2, {}, none);
    ASSERT_FALSE(path);
    EXPECT_EQ(path.error().code, ErrorCode::failed_precondition);
    EXPECT_THAT(path.error().message, HasSubstr("shard 1 of 2 was not written"));
    EXPECT_EQ(find_latest_checkpoint(dir.path()).error().code, ErrorCode::not_found);
}

TEST(Writer, IsNotPublishedWithAnElementMissing) {
    TempDir dir;
    Faults none;
    const TestTensor tensor = random_state(1).at("embedding");
    const std::string temp_dir = begin_checkpoint(dir.path(), {{1}, 1}, none).value();
    const Slice most = element_range(tensor.whole, 0, 100);
    const SliceData data[] = {{most, std::span(tensor.bytes).first(400)}};
    ASSERT_TRUE(write_shard(temp_dir, 0, 1, data, none));
    EXPECT_THAT(publish_checkpoint(dir.path(), {{1}, 1}, 1, {}, none).error().message,
                HasSubstr("element 100 of the 136 of embedding is in no shard"));
}

TEST(Writer, RefusesTheSameSliceTwiceAndWrongSizes) {
    TempDir dir;
    Faults none;
    const TestTensor tensor = random_state(1).at("norm");
    const std::string temp_dir = begin_checkpoint(dir.path(), {{1}, 1}, none).value();
    const SliceData twice[] = {{tensor.whole, tensor.bytes}, {tensor.whole, tensor.bytes}};
    EXPECT_THAT(write_shard(temp_dir, 0, 1, twice, none).error().message, HasSubstr("twice"));
    const SliceData wrong[] = {{tensor.whole, std::span(tensor.bytes).first(2)}};
    EXPECT_THROW((void)write_shard(temp_dir, 0, 1, wrong, none), CheckError);
}

TEST(Writer, ClearsWhatItsOwnEpochLeftAndNoOther) {
    TempDir dir;
    Faults none;
    write_text(dir / ".tmp-e1-s5/shard", "x");
    write_text(dir / ".tmp-e1-s3.removed/shard", "x");
    write_text(dir / ".tmp-e2-s5/shard", "x");
    write_text(dir / ".tmp-other/shard", "x");
    ASSERT_TRUE(begin_checkpoint(dir.path(), {{1}, 5}, none));
    EXPECT_FALSE(std::filesystem::exists(dir / ".tmp-e1-s5/shard"));
    EXPECT_FALSE(std::filesystem::exists(dir / ".tmp-e1-s3.removed"));
    EXPECT_TRUE(std::filesystem::exists(dir / ".tmp-e2-s5/shard"));
    EXPECT_TRUE(std::filesystem::exists(dir / ".tmp-other/shard"));
}

TEST(Writer, ReplacesACheckpointOfTheSameName) {
    TempDir dir;
    save_or_fail(dir.path(), {{1}, 5}, random_state(1));
    const std::string path = save_or_fail(dir.path(), {{1}, 5}, random_state(2));
    expect_holds(path, random_state(2));
    EXPECT_TRUE(list_checkpoints(dir.path())->temporary.empty());
}

TEST(Writer, ReplacesWhereDirectoriesCannotBeExchanged) {
    TempDir dir;
    Faults no_exchange({{"checkpoint.exchange", 0}});
    save_or_fail(dir.path(), {{1}, 5}, random_state(1));
    const auto path = save(dir.path(), {{1}, 5}, random_state(2), no_exchange);
    ASSERT_TRUE(path) << path.error().message;
    expect_holds(*path, random_state(2));
    EXPECT_TRUE(list_checkpoints(dir.path())->temporary.empty());
}

TEST(Writer, TakesShardsFromManyThreads) {
    TempDir dir;
    Faults none;
    const TestState state = random_state(3);
    const std::string temp_dir = begin_checkpoint(dir.path(), {{1}, 5}, none).value();
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&, rank] { EXPECT_TRUE(write_share(temp_dir, state, rank, 4, none)); });
    }
    for (std::thread& rank : ranks)
        rank.join();
    const auto path = publish_checkpoint(dir.path(), {{1}, 5}, 4, {}, none);
    ASSERT_TRUE(path) << path.error().message;
    const auto checkpoint = Checkpoint::open(*path, Verify::hashes);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    ranks.clear();
    for (int rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&] {
            for (const auto& [name, tensor] : state) {
                std::vector<std::byte> bytes(tensor.bytes.size());
                EXPECT_TRUE(CheckpointReader(*checkpoint).read(tensor.whole, bytes));
                EXPECT_EQ(bytes, tensor.bytes) << name;
            }
        });
    }
    for (std::thread& rank : ranks)
        rank.join();
}

TEST(Writer, ReportsAFullDisk) {
    TempDir dir;
    Faults full({{"checkpoint.full", 2}});
    const auto path = save(dir.path(), {{1}, 5}, random_state(1), full);
    ASSERT_FALSE(path);
    EXPECT_EQ(path.error().code, ErrorCode::unavailable);
    EXPECT_EQ(path.error().message,
              format("cannot write {}/.tmp-e1-s5/shard-00000-of-00002.safetensors: No space left "
                     "on device",
                     dir.path()));
}

// Makes a real write(2) fail in the middle of a shard.
TEST(Writer, ReportsAWriteThatTheSystemRefuses) {
    TempDir dir;
    Faults none;
    Rng rng(1);
    const TestTensor tensor = random_tensor(whole_tensor("w", DType::f32, {1 << 18}), rng);
    const SliceData data[] = {{tensor.whole, tensor.bytes}};
    const std::string temp_dir = begin_checkpoint(dir.path(), {{1}, 5}, none).value();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1 << 19, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto shard = write_shard(temp_dir, 0, 1, data, none);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, old_handler);
    ASSERT_FALSE(shard);
    EXPECT_EQ(shard.error().code, ErrorCode::unavailable);
    EXPECT_THAT(shard.error().message,
                HasSubstr("shard-00000-of-00001.safetensors: File too large"));
}

TEST(Writer, NamesADirectoryItCannotMake) {
    TempDir dir;
    Faults none;
    write_text(dir / "file", "x");
    const auto path = begin_checkpoint(dir / "file/ckpt", {{1}, 5}, none);
    ASSERT_FALSE(path);
    EXPECT_THAT(path.error().message, HasSubstr(dir / "file/ckpt"));
    EXPECT_THAT(path.error().message, HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace rm
