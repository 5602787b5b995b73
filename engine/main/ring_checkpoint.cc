// ring-checkpoint: verifies and benchmarks checkpoints without training.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/directory.h"
#include "engine/checkpoint/writer.h"
#include "engine/model/parameters.h"
#include "spec/model_preset.h"

namespace rm {
namespace {

constexpr int kExitDamaged = 1;
constexpr int kExitUsage = 2;
constexpr std::string_view kUsage =
    "usage: ring-checkpoint verify DIR\n"
    "         reads every checkpoint below DIR, newest first, and says which are whole; 1 where\n"
    "         one is not\n"
    "       ring-checkpoint bench DIR --bytes SIZE [--writers N] [--readers N]\n"
    "         writes a checkpoint of llama3-8b, with as many layers as SIZE (20GiB) holds, below\n"
    "         DIR, has N readers read and verify what as many ranks of ZeRO-3 would (4), says "
    "what\n"
    "         each has read, and removes it\n";

std::string rate(std::int64_t bytes, double seconds) {
    return format("{} in {}, {:.0} MB/s", Bytes{bytes}, Seconds{seconds},
                  static_cast<double>(bytes) / 1e6 / std::max(seconds, 1e-9));
}

// Three tensors for each parameter, f32: the weight and its moments.
std::vector<Slice> tensors_of(const ModelConfig& model) {
    std::vector<Slice> tensors;
    for (const Parameter& p : make_parameters(model).all) {
        for (const char* suffix : {"", ".adam_m", ".adam_v"})
            tensors.push_back(whole_tensor(p.name + suffix, DType::f32, p.shape));
    }
    return tensors;
}

std::int64_t bytes_of(const std::vector<Slice>& tensors) {
    std::int64_t bytes = 0;
    for (const Slice& tensor : tensors)
        bytes += num_bytes(tensor);
    return bytes;
}

// At least one layer, whatever `limit` is.
std::vector<Slice> tensors_within(std::int64_t limit) {
    ModelConfig model = find_preset("llama3-8b").value();
    while (model.num_layers > 1 && bytes_of(tensors_of(model)) > limit)
        --model.num_layers;
    return tensors_of(model);
}

// The share of a tensor that rank `index` of `count` owns.
Slice share_of(const Slice& whole, int index, int count) {
    const std::int64_t first = whole.count * index / count;
    return element_range(whole, first, whole.count * (index + 1) / count - first);
}

// Bytes that no disk compresses.
std::vector<std::byte> random_block(std::uint64_t seed) {
    std::vector<std::byte> block(std::size_t{8} << 20);
    Rng rng(seed);
    for (std::size_t at = 0; at < block.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = rng();
        std::memcpy(block.data() + at, &word, sizeof(word));
    }
    return block;
}

Status write_part(const std::string& temp_dir, const std::vector<Slice>& tensors, int index,
                  int count) {
    const std::vector<std::byte> block = random_block(static_cast<std::uint64_t>(index) + 1);
    std::vector<SliceData> slices;
    for (const Slice& tensor : tensors) {
        const Slice share = share_of(tensor, index, count);
        const auto feed = [&block, bytes = num_bytes(share)](const ByteSink& sink) -> Status {
            for (std::int64_t left = bytes; left > 0; left -= std::ssize(block)) {
                const auto size = usize(std::min(left, std::ssize(block)));
                RM_RETURN_IF_ERROR(sink(std::span(block).first(size)));
            }
            return {};
        };
        slices.push_back({share, {}, feed});
    }
    Faults none;
    const auto shard = write_shard(temp_dir, index, count, slices, none);
    return shard ? Status() : Status(shard.error());
}

struct Part {
    std::int64_t wanted = 0;
    std::int64_t read = 0;
    double seconds = 0;
    Status status;
};

// Reads in blocks, as Checkpointer does if the weights are on a device.
Part read_part(const Checkpoint& checkpoint, const std::vector<Slice>& tensors, int index,
               int count) {
    constexpr std::int64_t kMostElements = std::int64_t{2} << 20;
    const Stopwatch watch;
    Part part;
    CheckpointReader reader(checkpoint);
    std::vector<std::byte> block;
    for (const Slice& tensor : tensors) {
        const Slice share = share_of(tensor, index, count);
        part.wanted += num_bytes(share);
        for (std::int64_t at = 0; part.status && at < share.count; at += kMostElements) {
            Slice piece = share;
            piece.first += at;
            piece.count = std::min(kMostElements, share.count - at);
            block.resize(usize(num_bytes(piece)));
            part.status = reader.read(piece, block);
        }
    }
    part.read = reader.bytes_read();
    part.seconds = watch.seconds();
    return part;
}

void on_threads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back(work, i);
    for (std::thread& thread : threads)
        thread.join();
}

struct Bench {
    std::string dir;
    std::int64_t bytes = 0;
    int writers = 4;
    int readers = 4;
};

Result<std::string> write_all(const Bench& bench, const std::vector<Slice>& tensors) {
    const Stopwatch watch;
    Faults none;
    const CheckpointName name{{1}, 1};
    RM_TRY(const std::string temp_dir, begin_checkpoint(bench.dir, name, none));
    std::vector<Status> written(usize(bench.writers));
    on_threads(bench.writers,
               [&](int i) { written[usize(i)] = write_part(temp_dir, tensors, i, bench.writers); });
    for (const Status& status : written)
        RM_RETURN_IF_ERROR(status);
    RM_TRY(std::string path, publish_checkpoint(bench.dir, name, bench.writers, {}, none));
    std::cout << format("{} writers: {}\n", bench.writers,
                        rate(bytes_of(tensors), watch.seconds()));
    return path;
}

Status read_all(const Bench& bench, const std::string& path, const std::vector<Slice>& tensors) {
    const Stopwatch watch;
    RM_TRY(const Checkpoint checkpoint, Checkpoint::open(path, Verify::sizes));
    std::vector<Part> parts(usize(bench.readers));
    on_threads(bench.readers,
               [&](int i) { parts[usize(i)] = read_part(checkpoint, tensors, i, bench.readers); });
    std::int64_t read = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        RM_RETURN_IF_ERROR(parts[i].status);
        read += parts[i].read;
        std::cout << format("rank {} needs {} bytes, read and verified {}: {}\n", i,
                            parts[i].wanted, parts[i].read, rate(parts[i].read, parts[i].seconds));
    }
    std::cout << format("{} readers: {} of a checkpoint of {}\n", bench.readers,
                        rate(read, watch.seconds()), Bytes{bytes_of(tensors)});
    return {};
}

Status run_bench(const Bench& bench) {
    const std::vector<Slice> tensors = tensors_within(bench.bytes);
    const auto path = write_all(bench, tensors);
    Status status = path ? read_all(bench, *path, tensors) : Status(path.error());
    for (const char* left : {"e1-s1", ".tmp-e1-s1"}) {
        std::error_code ignored;
        std::filesystem::remove_all(bench.dir + "/" + left, ignored);
    }
    return status;
}

std::int64_t size_on_disk(const VerifiedCheckpoint& checkpoint) {
    std::int64_t bytes = 0;
    for (const ShardInfo& shard : checkpoint.manifest.shards)
        bytes += shard.bytes;
    return bytes;
}

Result<int> verify_all(const std::string& dir) {
    RM_TRY(const DirectoryListing listing, list_checkpoints(dir));
    int code = 0;
    for (const CheckpointName& name : listing.checkpoints) {
        const Stopwatch watch;
        const auto verified = verify_named(dir, name, Verify::hashes);
        if (verified) {
            std::cout << format("{} is whole: {}\n", name,
                                rate(size_on_disk(*verified), watch.seconds()));
            continue;
        }
        std::cout << format("{} is damaged: {}\n", name, verified.error().message);
        code = kExitDamaged;
    }
    for (const TemporaryEntry& entry : listing.temporary)
        std::cout << format("{} was never finished or half removed\n", entry.file);
    if (listing.checkpoints.empty()) std::cout << format("there is no checkpoint in {}\n", dir);
    return code;
}

Result<Bench> parse_bench(const std::vector<std::string>& words) {
    Bench bench{.dir = words[1]};
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
        const std::string& value = words[i + 1];
        if (words[i] == "--bytes") {
            RM_TRY(const Bytes bytes, parse_bytes(value));
            bench.bytes = bytes.value;
            continue;
        }
        RM_TRY(const std::int64_t count, parse_count(value, Suffix::decimal));
        if (count < 1 || count > 1024) return invalid_argument("{} {}: 1 to 1024", words[i], value);
        if (words[i] != "--writers" && words[i] != "--readers")
            return invalid_argument("'{}' is not expected\n{}", words[i], kUsage);
        (words[i] == "--writers" ? bench.writers : bench.readers) = static_cast<int>(count);
    }
    if (words.size() % 2 != 0 || bench.bytes == 0)
        return invalid_argument("bench needs --bytes and a value for every option\n{}", kUsage);
    return bench;
}

Result<int> run(const std::vector<std::string>& words) {
    if (words.size() == 2 && words[0] == "verify") return verify_all(words[1]);
    if (words.size() < 2 || words[0] != "bench") return invalid_argument("{}", kUsage);
    RM_TRY(const Bench bench, parse_bench(words));
    RM_RETURN_IF_ERROR(run_bench(bench));
    return 0;
}

}  // namespace
}  // namespace rm

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
        std::cout << rm::kUsage;
        return 0;
    }
    try {
        const auto code = rm::run(words);
        if (code) return *code;
        std::cerr << code.error().message << '\n';
        return code.error().code == rm::ErrorCode::invalid_argument ? rm::kExitUsage
                                                                    : rm::kExitDamaged;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return rm::kExitDamaged;
    }
}
