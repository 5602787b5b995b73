#include "engine/data/file/hash.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/format.h"

namespace rm {

struct Xxh3::State {
    XXH3_state_t xxh;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) {
    XXH3_128bits_reset(&state_->xxh);
}
Xxh3::~Xxh3() = default;
Xxh3::Xxh3(Xxh3&&) noexcept = default;
Xxh3& Xxh3::operator=(Xxh3&&) noexcept = default;

void Xxh3::update(std::span<const std::byte> bytes) {
    if (!bytes.empty()) XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

void Xxh3::update(std::int64_t value) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    update(bytes);
}

std::string Xxh3::hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
    return format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string xxh3_hex(std::span<const std::byte> bytes) {
    Xxh3 hash;
    hash.update(bytes);
    return hash.hex();
}

}  // namespace rm
