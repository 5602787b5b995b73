#include "kernels/device.h"

#include <utility>

namespace rm {

std::string_view to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::weights:
            return "weights";
        case MemoryKind::gradients:
            return "gradients";
        case MemoryKind::optimizer:
            return "optimizer";
        case MemoryKind::activations:
            return "activations";
        case MemoryKind::workspace:
            return "workspace";
        case MemoryKind::communication:
            return "communication";
        case MemoryKind::data:
            return "data";
    }
    return "?";
}

Buffer::~Buffer() {
    if (device_ == nullptr) return;
    device_->allocated_[static_cast<std::size_t>(kind_)].value -= size_.value;
    device_->free_bytes(data_, size_);
}

void Buffer::swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(kind_, other.kind_);
}

PinnedBuffer::PinnedBuffer(Device& device, Bytes size) : device_(&device), size_(size) {
    data_ = static_cast<std::byte*>(device.allocate_pinned(size));
    if (data_ != nullptr) return;
    throw OutOfMemory(format("out of memory: the host has refused {} of pinned memory", size));
}

PinnedBuffer::~PinnedBuffer() {
    if (device_ != nullptr) device_->free_pinned(data_, size_);
}

void PinnedBuffer::swap(PinnedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
}

Buffer Device::allocate(Bytes size, MemoryKind kind) {
    RM_CHECK(size.value >= 0, "a buffer of {} bytes for {}", size.value, to_string(kind));
    void* data = allocate_bytes(size);
    if (data == nullptr) {
        throw OutOfMemory(
            format("out of memory: the device has refused {} for {}, beside {} that "
                   "it has given",
                   size, to_string(kind), allocated()));
    }
    allocated_[static_cast<std::size_t>(kind)] += size;
    return {*this, data, size, kind};
}

Bytes Device::allocated() const {
    Bytes total;
    for (const Bytes bytes : allocated_)
        total += bytes;
    return total;
}

Tensor::Tensor(Device& device, MemoryKind kind, DType dtype,
               std::initializer_list<std::int64_t> shape) {
    const TensorView shape_only(nullptr, dtype, shape);
    buffer_ = device.allocate(shape_only.num_bytes(), kind);
    view_ = TensorView(buffer_.data(), dtype, shape);
}

}  // namespace rm
