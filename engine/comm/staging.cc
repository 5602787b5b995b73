#include "engine/comm/staging.h"

#include <limits>

namespace rm {
namespace {

constexpr int kNumPieces = 5;
constexpr int kFirstReceiving = 2;
constexpr int kOpen = 4;

std::size_t size_of_part(const TensorView& part) {
    RM_CHECK(part.num_bytes() <= Staging::kPiece, "{} in a piece", part.num_bytes());
    return usize(part.num_bytes().value);
}

}  // namespace

Staging::Staging(Device& device) {
    if (device.host_visible()) return;
    device_ = &device;
    pinned_.emplace(device, Bytes{kNumPieces * kPiece.value});
}

std::int64_t Staging::piece_elements(const TensorView& x) const {
    if (device_ == nullptr) return std::numeric_limits<std::int64_t>::max();
    return kPiece.value / size_of(x.dtype());
}

std::size_t Staging::num_slots() const {
    return device_ == nullptr ? std::numeric_limits<std::size_t>::max() : kFirstReceiving;
}

std::span<const std::byte> Staging::load(const TensorView& part, int slot) {
    if (device_ == nullptr || part.num_elements() == 0) return part.bytes();
    const std::span<std::byte> bytes(memory(slot), size_of_part(part));
    device_->read(part, bytes.data());
    return bytes;
}

std::span<std::byte> Staging::room(const TensorView& part, int slot) {
    if (device_ == nullptr || part.num_elements() == 0) return part.bytes();
    return {memory(kFirstReceiving + slot), size_of_part(part)};
}

void Staging::store(const TensorView& part, int slot) {
    if (device_ == nullptr || part.num_elements() == 0) return;
    device_->write(memory(kFirstReceiving + slot), part);
}

TensorView Staging::open(const TensorView& part) {
    if (device_ == nullptr) return part;
    size_of_part(part);
    const TensorView host(memory(kOpen), part.dtype(), {part.num_elements()});
    if (part.num_elements() > 0) device_->read(part, host.data());
    return host;
}

void Staging::close(const TensorView& part) {
    if (device_ == nullptr || part.num_elements() == 0) return;
    device_->write(memory(kOpen), part);
}

}  // namespace rm
