#include "kernels/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/forwarding_device.h"
#include "tests/support/refusals.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(Device, CountsMemoryByKind) {
    const auto device = make_host_device();
    {
        const Buffer weights = device->allocate({1000}, MemoryKind::weights);
        const Buffer more = device->allocate({24}, MemoryKind::weights);
        const Tensor data(*device, MemoryKind::data, DType::i32, {16});
        EXPECT_EQ(device->allocated(MemoryKind::weights), Bytes{1024});
        EXPECT_EQ(device->allocated(MemoryKind::data), Bytes{64});
        EXPECT_EQ(device->allocated(MemoryKind::gradients), Bytes{0});
        EXPECT_EQ(device->allocated(), Bytes{1088});
    }
    EXPECT_EQ(device->allocated(), Bytes{0});
}

TEST(Device, AlignsEveryBufferEvenEmptyOnes) {
    const auto device = make_host_device();
    for (const std::int64_t size : {0, 1, 63, 64, 65, 4097}) {
        const Buffer buffer = device->allocate({size}, MemoryKind::workspace);
        ASSERT_NE(buffer.data(), nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U) << size;
        EXPECT_EQ(buffer.size(), Bytes{size});
    }
}

// A device without free memory.
class FullDevice final : public test::ForwardingDevice {
protected:
    void* allocate_bytes(Bytes) override { return nullptr; }
    void free_bytes(void*, Bytes) override {}
};

TEST(Device, RefusesWhatCannotBeAllocated) {
    FullDevice device;
    try {
        device.allocate({3 << 20}, MemoryKind::activations);
        ADD_FAILURE() << "nothing was refused";
    } catch (const OutOfMemory& refused) {
        EXPECT_STREQ(refused.what(),
                     "out of memory: the device has refused 3.0 MiB for activations, beside 0 B "
                     "that it has given");
    }
    EXPECT_EQ(device.allocated(), Bytes{0});
    EXPECT_THROW(make_host_device()->allocate({-1}, MemoryKind::data), CheckError);
    EXPECT_THROW(PinnedBuffer(device, {1 << 20}), OutOfMemory);
}

#ifdef RM_POISON
TEST(Device, FillsFreshMemoryWithNaN) {
    const auto device = make_host_device();
    const Tensor x(*device, MemoryKind::activations, DType::f32, {100});
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(std::isnan(x->as<float>()[i])) << i;
    const Tensor y(*device, MemoryKind::activations, DType::f64, {100});
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(std::isnan(y->as<double>()[i])) << i;
}
#endif

TEST(Buffer, MovesItsMemoryAndReturnsItOnce) {
    const auto device = make_host_device();
    Buffer first = device->allocate({128}, MemoryKind::gradients);
    void* data = first.data();
    Buffer second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(device->allocated(), Bytes{128});
    second = device->allocate({64}, MemoryKind::optimizer);
    EXPECT_EQ(device->allocated(MemoryKind::gradients), Bytes{0});
    EXPECT_EQ(device->allocated(), Bytes{64});
    second = Buffer();
    EXPECT_EQ(device->allocated(), Bytes{0});
}

TEST(Tensor, MovesWithItsView) {
    const auto device = make_host_device();
    Tensor first(*device, MemoryKind::weights, DType::f64, {3, 5});
    void* data = first->data();
    const Tensor second = std::move(first);
    EXPECT_EQ(second->data(), data);
    EXPECT_EQ(second->dim(1), 5);
    EXPECT_EQ(device->allocated(), Bytes{120});
}

TEST(Device, UploadsAndDownloadsInStreamOrder) {
    const auto device = make_host_device();
    const auto stream = device->make_stream("copy");
    const Tensor x(*device, MemoryKind::data, DType::f32, {4});
    const std::vector<float> host = {1, 2, 3, 4};
    std::vector<float> back(4);
    device->upload(host.data(), x, *stream);
    stream->enqueue("double", [&] {
        for (int i = 0; i < 4; ++i)
            x->as<float>()[i] *= 2;
    });
    device->download(x, back.data(), *stream);
    stream->synchronize();
    EXPECT_EQ(back, (std::vector<float>{2, 4, 6, 8}));
}

TEST(Device, CopiesAtOnceOutsideOfStreams) {
    const auto device = make_host_device();
    const Tensor x(*device, MemoryKind::data, DType::i32, {4});
    const std::vector<std::int32_t> host = {1, 2, 3, 4};
    std::vector<std::int32_t> back(2);
    device->write(host.data(), x);
    device->zero(x->rows(1, 1));
    device->read(x->rows(1, 2), back.data());
    EXPECT_EQ(back, (std::vector<std::int32_t>{0, 3}));
}

TEST(PinnedBuffer, IsPageAlignedHostMemoryThatMoves) {
    const auto device = make_host_device();
    PinnedBuffer first(*device, {5000});
    std::byte* data = first.data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 4096, 0U);
    const PinnedBuffer second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(second.bytes().size(), 5000U);
}

TEST(MemoryKind, HasAName) {
    for (std::size_t i = 0; i < kNumMemoryKinds; ++i) {
        EXPECT_NE(to_string(static_cast<MemoryKind>(i)), "?");
    }
}

}  // namespace
}  // namespace rm
