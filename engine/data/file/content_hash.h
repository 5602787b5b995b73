#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/fault.h"
#include "base/result.h"
#include "engine/data/file/hash.h"

namespace rm {

// Monitors the opening, scanning or hashing of data.
struct ReadWatch {
    Activity* activity = nullptr;  // counts bytes and can cancel
    Faults* faults = nullptr;
    std::string_view slow_point = "data.slow_read";  // fault point that slows reads

    // Called before reading the bytes. An entry of a directory counts as a byte.
    Status pass(std::int64_t bytes = 1) const {
        pass_slowly(faults, slow_point);
        if (activity == nullptr) return {};
        activity->done += bytes;
        return activity->check();
    }
};

// A hash names the content of a data set (docs/formats/data.md): up to kHashedWhole bytes it covers
// all of them, beyond that names, sizes and kNumSamples pieces at equal distances, so that
// terabytes take a second. The hash of a sample has a prefix. Fault point data.slow_read: reading a
// piece of at most kSampleBytes is slow.
constexpr std::int64_t kHashedWhole = std::int64_t{256} << 20;
constexpr std::int64_t kNumSamples = 256;
constexpr std::int64_t kSampleBytes = std::int64_t{1} << 20;
constexpr std::string_view kSampledPrefix = "sampled-";
inline bool is_sampled(std::string_view hash) {
    return hash.starts_with(kSampledPrefix);
}

// A file of a data set.
struct HashedFile {
    std::string name;  // empty where it is no part of the content
    std::int64_t bytes = 0;
    std::function<Status(std::int64_t offset, std::span<std::byte> out)> read;
};

// Hashes a data set of more than kHashedWhole bytes.
Result<std::string> sampled_hash(std::span<const HashedFile> files, const ReadWatch& watch);
// Combines hashes into one; sampled where one of them is.
std::string combined_hash(std::span<const std::string> hashes);

}  // namespace rm
