#include "spec/memory_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rm {
namespace {

using ::testing::HasSubstr;

std::string error_of(const MemorySpec& memory) {
    const Status status = check_memory(memory);
    return status ? "" : status.error().message;
}

TEST(MemorySpec, ErrorsNameKeyValueAndWhatWouldBeRight) {
    EXPECT_EQ(error_of({.alpha = 1.5}), "memory.alpha: 1.5 must be between 0 and 1, or auto");
    EXPECT_THAT(error_of({.alpha = -0.1}), HasSubstr("memory.alpha: -0.1"));
    EXPECT_THAT(error_of({.alpha = std::nan("")}), HasSubstr("memory.alpha: nan"));
    EXPECT_EQ(error_of({.prefetch = 5}), "memory.prefetch: 5 chunks; must be 0 to 4");
    EXPECT_EQ(error_of({.prefetch = -1}), "memory.prefetch: -1 chunks; must be 0 to 4");
    EXPECT_EQ(error_of({.keep_every = -1}), "memory.keep_every: -1 layers; must be 1 to 64");
    EXPECT_EQ(error_of({.keep_every = 65}), "memory.keep_every: 65 layers; must be 1 to 64");
    EXPECT_EQ(error_of({.offload = Switch::off, .keep_precision = KeptPrecision::fp8}),
              "memory.keep_precision: fp8 is for what is kept on the host, and memory.offload is "
              "off; set that to on or auto, or this to compute");
    EXPECT_EQ(error_of({.device = Bytes{0}}),
              "memory.device: 0B must be a positive size such as 40GiB; without the key there is "
              "no limit");
    EXPECT_THAT(error_of({.host = Bytes{-1}}), HasSubstr("memory.host: -1B must be"));
    EXPECT_EQ(error_of({.offload = Switch::off, .windows = Switch::on}),
              "memory.windows: on needs what is kept on the host, and memory.offload is off; set "
              "it to on or auto");
}

TEST(MemorySpec, TheEndsOfEachRangeAreInIt) {
    for (const double alpha : {0.0, 1.0})
        EXPECT_EQ(error_of({.alpha = alpha}), "");
    for (const int prefetch : {0, kMostPrefetch})
        EXPECT_EQ(error_of({.prefetch = prefetch}), "");
    for (const int layers : {1, kMostKeepEvery})
        EXPECT_EQ(error_of({.keep_every = layers}), "");
    EXPECT_EQ(error_of({.device = Bytes{1}, .host = Bytes{1}}), "");
}

TEST(ResolveMemory, AutoKeepsEverythingOnTheDevice) {
    EXPECT_EQ(resolve_memory({}), MemoryPolicy{});
    EXPECT_EQ(resolve_memory({.tile = 192}).chunk_tokens, 4032) << "whole tiles within 4096";
    EXPECT_EQ(resolve_memory({.tile = 8192}).chunk_tokens, 8192) << "a tile at least";
}

TEST(ResolveMemory, WhatIsGivenIsTaken) {
    const MemorySpec spec{.tile = 128,
                          .chunk = 1024,
                          .keep = Keep::input,
                          .alpha = 0,
                          .offload = Switch::on,
                          .windows = Switch::on,
                          .keep_every = 3,
                          .keep_precision = KeptPrecision::bf16,
                          .prefetch = 0,
                          .arena = ArenaReuse::off,
                          .device = Bytes{7},
                          .host = Bytes{9}};
    const MemoryPolicy wanted{.tile_tokens = 128,
                              .chunk_tokens = 1024,
                              .keep = Keep::input,
                              .alpha = 0,
                              .kept = KeptPlace::host,
                              .keep_every = 3,
                              .keep_precision = KeptPrecision::bf16,
                              .working = WorkingSet::windows,
                              .prefetch = 0,
                              .reuse = ArenaReuse::off,
                              .device = Bytes{7},
                              .host = Bytes{9}};
    EXPECT_EQ(resolve_memory(spec), wanted);
}

TEST(ResolveMemory, WindowsBringOffloadAndOffloadNoWindows) {
    EXPECT_EQ(resolve_memory({.windows = Switch::on}).kept, KeptPlace::host);
    EXPECT_EQ(resolve_memory({.offload = Switch::on}).working, WorkingSet::whole);
    EXPECT_EQ(resolve_memory({.offload = Switch::off}).kept, KeptPlace::device);
}

TEST(MemoryWords, ComeBackAndUnknownOnesNameThem) {
    for (const Keep k : {Keep::input, Keep::input_and_attention}) {
        EXPECT_EQ(parse_word<Keep>(to_string(k)).value(), k);
        EXPECT_EQ(parse_word<std::optional<Keep>>(to_string(k)).value(), k);
    }
    EXPECT_EQ(parse_word<std::optional<Keep>>("auto").value(), std::nullopt);
    for (const KeptPlace p : {KeptPlace::device, KeptPlace::host})
        EXPECT_EQ(parse_word<KeptPlace>(to_string(p)).value(), p);
    for (const KeptPrecision p : {KeptPrecision::compute, KeptPrecision::bf16, KeptPrecision::fp8})
        EXPECT_EQ(parse_word<KeptPrecision>(to_string(p)).value(), p);
    for (const WorkingSet w : {WorkingSet::whole, WorkingSet::windows})
        EXPECT_EQ(parse_word<WorkingSet>(to_string(w)).value(), w);
    for (const ArenaReuse r : {ArenaReuse::off, ArenaReuse::on})
        EXPECT_EQ(parse_word<ArenaReuse>(to_string(r)).value(), r);
    for (const Switch s : {Switch::automatic, Switch::off, Switch::on})
        EXPECT_EQ(parse_word<Switch>(to_string(s)).value(), s);
    EXPECT_EQ(parse_word<Keep>("auto").error().message,
              "keep 'auto' is not known; input or input+attention");
    EXPECT_EQ(parse_word<std::optional<Keep>>("all").error().message,
              "keep 'all' is not known; auto, input or input+attention");
    EXPECT_EQ(parse_word<Switch>("host").error().message,
              "switch 'host' is not known; auto, on or off");
    EXPECT_EQ(parse_word<ArenaReuse>("shared").error().message,
              "arena 'shared' is not known; reuse or separate");
}

TEST(MemoryPolicy, SaysWhatItIs) {
    EXPECT_EQ(to_string(MemoryPolicy{}),
              "tile 512, chunk 4096, keeps input+attention, alpha 1, kept on the device, layers "
              "whole, prefetch 1");
    EXPECT_EQ(to_string(MemoryPolicy{.keep = Keep::input,
                                     .alpha = 0.3,
                                     .kept = KeptPlace::host,
                                     .working = WorkingSet::windows,
                                     .reuse = ArenaReuse::off,
                                     .device = Bytes{std::int64_t{40} << 30},
                                     .host = Bytes{1000}}),
              "tile 512, chunk 4096, keeps input, alpha 0.3, kept on the host, in windows, "
              "prefetch 1, buffers separate, device at most 40GiB, host at most 1000B");
    EXPECT_EQ(to_string(MemoryPolicy{
                  .kept = KeptPlace::host, .keep_every = 4, .keep_precision = KeptPrecision::fp8}),
              "tile 512, chunk 4096, keeps input+attention of every 4 layers, alpha 1, kept on the "
              "host in fp8, layers whole, prefetch 1");
}

}  // namespace
}  // namespace rm
