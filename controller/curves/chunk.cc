#include "controller/curves/chunk.h"

#include <zstd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace rm {
namespace {

constexpr int kLevel = 3;
constexpr char kWhole = 1;
constexpr char kReal = 2;
constexpr char kConsecutive = 1;
constexpr char kDistances = 2;
constexpr std::size_t kMaxBytes = 64u << 20;  // of a chunk: more is damage

void put_number(std::string& out, std::int64_t number) {
    auto rest = static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
    for (; rest >= 0x80; rest >>= 7)
        out += static_cast<char>(rest | 0x80);
    out += static_cast<char>(rest);
}

void put_distances(std::string& out, const std::vector<std::int64_t>& numbers) {
    std::int64_t before = 0;
    for (const std::int64_t number : numbers) {
        put_number(out, number - before);
        before = number;
    }
}

// Usual steps follow each other: then their first one says all.
void put_steps(std::string& out, const std::vector<std::int64_t>& steps) {
    const auto count = static_cast<std::int64_t>(steps.size());
    const bool consecutive = !steps.empty() && steps.back() - steps.front() == count - 1;
    out += consecutive ? kConsecutive : kDistances;
    if (consecutive) return put_number(out, steps.front());
    put_distances(out, steps);
}

void put_planes(std::string& out, const std::vector<double>& values) {
    for (int plane = 3; plane >= 0; --plane) {
        for (const double value : values) {
            const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
            out += static_cast<char>(bits >> (8 * plane));
        }
    }
}

std::vector<std::int64_t> rounded(const std::vector<double>& values) {
    std::vector<std::int64_t> whole;
    whole.reserve(values.size());
    for (const double value : values)
        whole.push_back(std::llround(value));
    return whole;
}

std::string compressed(const std::string& bytes) {
    std::string out(ZSTD_compressBound(bytes.size()), '\0');
    const std::size_t size =
        ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
    RM_CHECK(ZSTD_isError(size) == 0, "zstd cannot compress {} bytes", bytes.size());
    out.resize(size);
    return out;
}

Error damaged() {
    return data_loss("a chunk of a curve in telemetry.db is damaged");
}

Result<std::string> decompressed(std::string_view bytes) {
    const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size > kMaxBytes) return damaged();  // also its error values
    std::string out(size, '\0');
    const std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(got) != 0 || got != size) return damaged();
    return out;
}

// Reads what the put functions wrote.
class ChunkReader {
public:
    explicit ChunkReader(std::string_view bytes) : rest_(bytes) {}

    bool number(std::int64_t& number) {
        std::uint64_t bits = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) return false;
            const auto byte = static_cast<std::uint8_t>(rest_.front());
            rest_.remove_prefix(1);
            bits |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte >= 0x80) continue;
            number = static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
            return true;
        }
        return false;
    }
    bool steps(std::size_t count, std::vector<std::int64_t>& out) {
        if (rest_.empty()) return false;
        const char form = rest_.front();
        rest_.remove_prefix(1);
        if (form != kConsecutive) return form == kDistances && distances(count, out);
        std::int64_t first = 0;
        if (!number(first)) return false;
        const std::size_t before = out.size();
        out.resize(before + count);
        std::iota(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), first);
        return true;
    }
    template <typename T>
    bool distances(std::size_t count, std::vector<T>& out) {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t distance = 0;
            if (!number(distance)) return false;
            at += distance;
            out.push_back(static_cast<T>(at));
        }
        return true;
    }
    bool planes(std::size_t count, std::vector<double>& out) {
        if (rest_.size() != 4 * count) return false;
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(rest_.data());
        const std::size_t before = out.size();
        out.resize(before + count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t bits =
                std::uint32_t{bytes[i]} << 24 | std::uint32_t{bytes[count + i]} << 16 |
                std::uint32_t{bytes[2 * count + i]} << 8 | std::uint32_t{bytes[3 * count + i]};
            out[before + i] = std::bit_cast<float>(bits);
        }
        return true;
    }

private:
    std::string_view rest_;
};

}  // namespace

std::string encode_chunk(const CurveLine& line, ChunkValues values) {
    const bool is_whole = values == ChunkValues::whole;
    std::string bytes;
    put_number(bytes, static_cast<std::int64_t>(line.size()));
    put_steps(bytes, line.steps);
    if (is_whole) {
        put_distances(bytes, rounded(line.values));
    } else {
        put_planes(bytes, line.values);
    }
    return (is_whole ? kWhole : kReal) + compressed(bytes);
}

Status decode_chunk(std::string_view bytes, CurveLine& line) {
    const bool is_whole = bytes.starts_with(kWhole);
    if (!is_whole && !bytes.starts_with(kReal)) return damaged();
    RM_TRY(const std::string plain, decompressed(bytes.substr(1)));
    ChunkReader reader(plain);
    std::int64_t count = 0;
    if (!reader.number(count) || count < 0) return damaged();
    const auto size = static_cast<std::size_t>(count);
    constexpr std::size_t kMostPoints = 4u << 20;
    if (size > kMostPoints || !reader.steps(size, line.steps)) return damaged();
    const bool whole =
        is_whole ? reader.distances(size, line.values) : reader.planes(size, line.values);
    return whole ? Status() : Status(damaged());
}

}  // namespace rm
