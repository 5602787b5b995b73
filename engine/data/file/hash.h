#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rm {

// Streams XXH3, 128 bits (xxhash 0.8, stable since). Names the content of data sets and checkpoint
// shards: it detects accidents, not attacks.
class Xxh3 {
public:
    Xxh3();
    ~Xxh3();
    Xxh3(Xxh3&&) noexcept;
    Xxh3& operator=(Xxh3&&) noexcept;

    void update(std::span<const std::byte> bytes);
    void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
    // Adds its eight bytes, little endian.
    void update(std::int64_t value);
    // 32 lower-case hexadecimal digits of everything so far, high half first (what `xxhsum -H2`
    // prints).
    std::string hex() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

std::string xxh3_hex(std::span<const std::byte> bytes);
inline std::string xxh3_hex(std::string_view text) {
    return xxh3_hex(std::as_bytes(std::span(text)));
}

}  // namespace rm
