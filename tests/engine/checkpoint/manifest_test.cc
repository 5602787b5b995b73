#include "engine/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rm {
namespace {

using testing::HasSubstr;

Manifest sample_manifest() {
    Slice half = whole_tensor("w", DType::bf16, {4, 6});
    half.split_dim = 1;
    half.split_count = 2;
    half.count = 12;
    Slice other = half;
    other.split_index = 1;
    return {.name = {{3}, 120},
            .state = {{"tokens", 1234567890123}, {"loss", 2.3}, {"path", "\xff"}},
            .shards = {{shard_file(0, 2), 100, "aa", {{"w#0", half}}},
                       {shard_file(1, 2), 104, "bb", {{"w#1", other}}}}};
}

TEST(CheckpointName, OrdersByEpochAndThenStep) {
    EXPECT_EQ(to_string(CheckpointName{{1}, 20}), "e1-s20");
    EXPECT_LT((CheckpointName{{1}, 20}), (CheckpointName{{1}, 100}));
    EXPECT_LT((CheckpointName{{1}, 100}), (CheckpointName{{2}, 20}));
    EXPECT_EQ(parse_checkpoint_name("e12-s0"), (CheckpointName{{12}, 0}));
    for (const char* text :
         {"", "e", "e1", "e1-", "e1-s", "e-1-s2", "e1-s-2", "e01-s2", "e1-s2x", "xe1-s2",
          ".tmp-e1-s2", "e1-s99999999999999999999", "e 1-s2", "e+1-s2"}) {
        EXPECT_FALSE(parse_checkpoint_name(text)) << text;
    }
}

TEST(Manifest, ComesBackAsItWas) {
    const Manifest manifest = sample_manifest();
    const auto back = parse_manifest(encode_manifest(manifest));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->name, manifest.name);
    EXPECT_EQ(back->state["tokens"], 1234567890123);
    EXPECT_EQ(back->state["loss"], 2.3);
    ASSERT_EQ(back->shards.size(), 2u);
    EXPECT_EQ(back->shards[1].file, "shard-00001-of-00002.safetensors");
    EXPECT_EQ(back->shards[1].bytes, 104);
    EXPECT_EQ(back->shards[1].hash, "bb");
    EXPECT_EQ(back->shards[1].slices[0].entry, "w#1");
    EXPECT_EQ(back->shards[1].slices[0].slice, manifest.shards[1].slices[0].slice);
}

TEST(Manifest, NoticesAnyChangedByte) {
    const std::string text = encode_manifest(sample_manifest());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (std::isspace(static_cast<unsigned char>(text[i])) != 0) continue;  // layout
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        EXPECT_FALSE(parse_manifest(changed)) << "byte " << i;
    }
}

TEST(Manifest, NoticesAMissingEnd) {
    const std::string text = encode_manifest(sample_manifest());
    for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
        EXPECT_THAT(parse_manifest(text.substr(0, size)).error().message, HasSubstr("not JSON"));
    }
}

TEST(Manifest, SaysThatANewerFormatIsNewer) {
    const auto manifest = parse_manifest(R"({"format":"ringmaster-checkpoint","version":2})");
    EXPECT_EQ(manifest.error().code, ErrorCode::failed_precondition);
    EXPECT_THAT(manifest.error().message, HasSubstr("version 2; this build reads version 1"));
    EXPECT_THAT(parse_manifest(R"({"format":"zip"})").error().message, HasSubstr("'zip'"));
    EXPECT_THAT(parse_manifest("[]").error().message, HasSubstr("not an object"));
}

TEST(Manifest, OpensNoFileOutsideTheCheckpoint) {
    Manifest manifest = sample_manifest();
    manifest.shards[1].file = "../../secret";
    EXPECT_THAT(parse_manifest(encode_manifest(manifest)).error().message,
                HasSubstr("shard 1 is called '../../secret'"));
}

TEST(Manifest, RefusesSlicesThatCannotBe) {
    Manifest manifest = sample_manifest();
    manifest.shards[0].slices[0].slice.count = 13;
    EXPECT_THAT(parse_manifest(encode_manifest(manifest)).error().message,
                HasSubstr("the part has 12 elements"));
}

TEST(Completeness, WantsEachElementExactlyOnce) {
    Manifest manifest = sample_manifest();
    EXPECT_TRUE(check_complete(manifest.shards));
    manifest.shards[1].slices[0].slice.count = 11;
    EXPECT_THAT(check_complete(manifest.shards).error().message,
                HasSubstr("element 23 of the 24 of w is in no shard"));
    manifest.shards[1].slices.push_back({"all", whole_tensor("w", DType::bf16, {4, 6})});
    EXPECT_THAT(check_complete(manifest.shards).error().message, HasSubstr("twice"));
    manifest.shards[1].slices.pop_back();
    manifest.shards[1].slices[0].slice.shape = {4, 8};
    EXPECT_THAT(check_complete(manifest.shards).error().message, HasSubstr("two shapes"));
}

}  // namespace
}  // namespace rm
