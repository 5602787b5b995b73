#include "engine/data/file/content_hash.h"

#include <algorithm>

namespace rm {
namespace {

// Reads bytes [at, at + out.size()) of the files as if they were one.
Status read_across(std::span<const HashedFile> files, std::span<const std::int64_t> begins,
                   std::int64_t at, std::span<std::byte> out) {
    const auto after = std::upper_bound(begins.begin(), begins.end(), at);
    auto file = usize(after - begins.begin()) - 1;
    while (!out.empty()) {
        const std::int64_t offset = at - begins[file];
        const std::int64_t left = files[file].bytes - offset;
        const auto count = std::min(out.size(), usize(left));
        if (count > 0) RM_RETURN_IF_ERROR(files[file].read(offset, out.first(count)));
        out = out.subspan(count);
        at += static_cast<std::int64_t>(count);
        ++file;
    }
    return {};
}

}  // namespace

Result<std::string> sampled_hash(std::span<const HashedFile> files, const ReadWatch& watch) {
    Xxh3 hash;
    std::vector<std::int64_t> begins;
    std::int64_t total = 0;
    for (const HashedFile& file : files) {
        hash.update(static_cast<std::int64_t>(file.name.size()));
        hash.update(file.name);
        hash.update(file.bytes);
        begins.push_back(total);
        total += file.bytes;
    }
    RM_CHECK(total > kSampleBytes, "a sample of {} bytes", total);
    std::vector<std::byte> piece(usize(kSampleBytes));
    for (std::int64_t i = 0; i < kNumSamples; ++i) {
        // The first piece is at the beginning, the last one at the end.
        const double place = static_cast<double>(i) / static_cast<double>(kNumSamples - 1);
        const auto at =
            static_cast<std::int64_t>(place * static_cast<double>(total - kSampleBytes));
        RM_RETURN_IF_ERROR(watch.pass(kSampleBytes));
        RM_RETURN_IF_ERROR(read_across(files, begins, at, piece));
        hash.update(piece);
    }
    return std::string(kSampledPrefix) + hash.hex();
}

std::string combined_hash(std::span<const std::string> hashes) {
    std::string all;
    bool sampled = false;
    for (const std::string& hash : hashes) {
        all += hash;
        sampled = sampled || is_sampled(hash);
    }
    return (sampled ? std::string(kSampledPrefix) : "") + xxh3_hex(all);
}

}  // namespace rm
