#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/fault.h"
#include "base/random.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/directory.h"
#include "engine/checkpoint/writer.h"
#include "tests/engine/data/text_files.h"

namespace rm {

// Tensors by name with their bytes: a training state as a checkpoint sees it.
struct TestTensor {
    Slice whole;
    std::vector<std::byte> bytes;
};
using TestState = std::map<std::string, TestTensor>;

inline TestTensor random_tensor(Slice whole, Rng& rng) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes(whole)));
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(rng());
    return {std::move(whole), std::move(bytes)};
}

inline TestState random_state(std::uint64_t seed) {
    Rng rng(seed);
    TestState state;
    for (const Slice& whole :
         {whole_tensor("embedding", DType::f32, {17, 8}), whole_tensor("norm", DType::bf16, {5}),
          whole_tensor("cube", DType::f64, {3, 4, 5}), whole_tensor("step", DType::i32, {}),
          whole_tensor("row", DType::f32, {1, 64})}) {
        state[whole.tensor] = random_tensor(whole, rng);
    }
    return state;
}

inline void copy_elements(std::span<const std::byte> from, std::int64_t from_element,
                          std::span<std::byte> to, std::int64_t to_element, std::int64_t count,
                          std::int64_t size) {
    std::memcpy(to.data() + to_element * size, from.data() + from_element * size,
                static_cast<std::size_t>(count * size));
}

// Lists the slice's elements one at a time, from first principles: an independent oracle.
inline std::vector<std::int64_t> elements_of(const Slice& slice) {
    std::vector<std::int64_t> elements;
    const std::int64_t total = tensor_elements(slice);
    std::int64_t inner = 1;
    std::int64_t size = 1;
    if (!slice.shape.empty()) {
        const auto dim = static_cast<std::size_t>(slice.split_dim);
        for (std::size_t i = dim + 1; i < slice.shape.size(); ++i)
            inner *= slice.shape[i];
        size = slice.shape[dim];
    }
    std::int64_t start = 0;
    std::int64_t length = 0;
    for (std::int64_t i = 0; i <= slice.split_index; ++i) {
        start += length;
        length = size / slice.split_count + (i < size % slice.split_count ? 1 : 0);
    }
    std::int64_t in_part = 0;
    for (std::int64_t element = 0; element < total; ++element) {
        const std::int64_t index = element / inner % size;
        if (index < start || index >= start + length) continue;
        if (in_part >= slice.first && in_part < slice.first + slice.count) {
            elements.push_back(element);
        }
        ++in_part;
    }
    return elements;
}

inline std::vector<std::byte> bytes_of(const TestTensor& tensor, const Slice& slice) {
    const std::int64_t size = size_of(slice.dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes(slice)));
    std::int64_t to = 0;
    for (const std::int64_t element : elements_of(slice)) {
        copy_elements(tensor.bytes, element, bytes, to++, 1, size);
    }
    return bytes;
}

// Returns a part of the slice: a random share of a random dim and a random range in it.
inline Slice random_slice(Slice slice, Rng& rng) {
    if (!slice.shape.empty()) {
        slice.split_dim = static_cast<std::int64_t>(rng.below(slice.shape.size()));
        slice.split_count = 1 + static_cast<std::int64_t>(rng.below(4));
        slice.split_index =
            static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(slice.split_count)));
    }
    const auto elements = static_cast<std::uint64_t>(part_elements(slice));
    slice.first = static_cast<std::int64_t>(rng.below(elements + 1));
    slice.count = static_cast<std::int64_t>(
        rng.below(elements - static_cast<std::uint64_t>(slice.first) + 1));
    return slice;
}

// Each rank writes its share of every tensor's elements.
inline Result<ShardInfo> write_share(const std::string& temp_dir, const TestState& state, int rank,
                                     int num_ranks, Faults& faults) {
    std::vector<SliceData> slices;
    for (const auto& [name, tensor] : state) {
        const std::int64_t total = tensor.whole.count;
        const std::int64_t first = total * rank / num_ranks;
        const Slice slice =
            element_range(tensor.whole, first, total * (rank + 1) / num_ranks - first);
        const std::int64_t size = size_of(slice.dtype);
        slices.push_back({slice, std::span(tensor.bytes)
                                     .subspan(static_cast<std::size_t>(first * size),
                                              static_cast<std::size_t>(slice.count * size))});
    }
    return write_shard(temp_dir, rank, num_ranks, slices, faults);
}

inline Result<std::string> save(const std::string& dir, const CheckpointName& name,
                                const TestState& state, Faults& faults, int num_ranks = 2) {
    RM_TRY(const std::string temp_dir, begin_checkpoint(dir, name, faults));
    for (int rank = 0; rank < num_ranks; ++rank) {
        RM_TRY(const ShardInfo shard, write_share(temp_dir, state, rank, num_ranks, faults));
    }
    return publish_checkpoint(dir, name, num_ranks, {{"step", name.step}}, faults);
}

inline std::string save_or_fail(const std::string& dir, const CheckpointName& name,
                                const TestState& state) {
    Faults none;
    auto path = save(dir, name, state, none);
    EXPECT_TRUE(path) << path.error().message;
    return path ? *path : "";
}

inline void expect_holds(const std::string& path, const TestState& state) {
    const auto checkpoint = Checkpoint::open(path, Verify::hashes);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    ASSERT_EQ(checkpoint->tensors().size(), state.size());
    for (const auto& [name, tensor] : state) {
        std::vector<std::byte> bytes(tensor.bytes.size());
        const Status read = CheckpointReader(*checkpoint).read(tensor.whole, bytes);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(bytes, tensor.bytes) << name;
    }
}

}  // namespace rm
