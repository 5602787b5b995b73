#include "kernels/cuda/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/kernels/simt/seeds.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// bf16 tensors of given sizes. Each has its own memory, which begins `shift` elements after an
// aligned address and ends with the tensor.
class Tensors {
public:
    Tensors(const std::vector<std::int64_t>& sizes, std::int64_t shift) {
        for (const std::int64_t size : sizes) {
            memory_.push_back(std::make_unique<std::vector<std::uint16_t>>(
                static_cast<std::size_t>(size + shift)));
            views_.push_back({memory_.back()->data() + shift, DType::bf16, {size}});
        }
    }
    void fill(std::uint16_t first) {
        for (const TensorView& view : views_) {
            std::uint16_t* x = view.as<std::uint16_t>();
            for (std::int64_t i = 0; i < view.num_elements(); ++i)
                x[i] = first++;
        }
    }
    const std::vector<TensorView>& views() const { return views_; }

private:
    std::vector<std::unique_ptr<std::vector<std::uint16_t>>> memory_;
    std::vector<TensorView> views_;
};

template <typename Op>
void run(const Op& op, std::uint64_t seed) {
    const auto device = make_host_device();
    const auto stream = device->make_stream("offload");
    GpuProfile profile;
    profile.num_sms = 1;  // blocks go round
    cuda::run(op, {.stream = *stream, .profile = profile, .emulation = {seed}});
    stream->synchronize();
}

class Offload : public ::testing::TestWithParam<std::int64_t> {
protected:
    std::int64_t shift() const { return GetParam(); }
};

const std::vector<std::int64_t> kSizes = {1, 8, 64, 1000, 12345, 33, 40000};

TEST_P(Offload, PacksTensorsOneAfterTheOther) {
    Tensors tensors(kSizes, shift());
    tensors.fill(100);
    const auto bytes = static_cast<std::size_t>(offload_bytes(tensors.views()).value);
    for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
        std::vector<unsigned char> buffer(bytes, 0xee);
        run(OffloadPack{tensors.views(), buffer.data()}, seed);
        std::size_t offset = 0;
        for (const TensorView& tensor : tensors.views()) {
            const auto size = static_cast<std::size_t>(tensor.num_bytes().value);
            EXPECT_EQ(std::memcmp(buffer.data() + offset, tensor.data(), size), 0)
                << shape_string(tensor) << ", seed " << seed;
            for (offset += size; offset % 64 != 0; ++offset)
                EXPECT_EQ(buffer[offset], 0xee) << "between tensors";
        }
        EXPECT_EQ(offset, bytes);
    }
}

TEST_P(Offload, UnpacksWhatWasPacked) {
    Tensors from(kSizes, shift()), to(kSizes, 0);
    from.fill(7);
    std::vector<unsigned char> buffer(static_cast<std::size_t>(offload_bytes(from.views()).value));
    for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
        to.fill(0);
        run(OffloadPack{from.views(), buffer.data()}, seed);
        run(OffloadUnpack{buffer.data(), to.views()}, seed);
        for (std::size_t i = 0; i < kSizes.size(); ++i) {
            const auto size = static_cast<std::size_t>(from.views()[i].num_bytes().value);
            EXPECT_EQ(std::memcmp(to.views()[i].data(), from.views()[i].data(), size), 0) << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shifts, Offload, ::testing::Values(0, 1, 8));

TEST(OffloadPlan, OneLaunchMovesAtMost32Tensors) {
    const Tensors tensors(std::vector<std::int64_t>(70, 8), 0);
    const auto plans = cuda::plan_offload(tensors.views());
    ASSERT_EQ(plans.size(), 3u);
    EXPECT_EQ(plans[0].pieces.size(), 32u);
    EXPECT_EQ(plans[2].pieces.size(), 6u);
    EXPECT_EQ(plans[2].pieces[5].offset, 69 * 64);
}

TEST(OffloadPlan, MemoryThatIsNotAlignedGoesTwoBytesAtATime) {
    const Tensors tensors({8, 8}, 1), aligned({8}, 0);
    std::vector<TensorView> views = tensors.views();
    views.push_back(aligned.views()[0]);
    const auto plans = cuda::plan_offload(views);
    ASSERT_EQ(plans.size(), 2u);
    EXPECT_EQ(plans[0].width, 16);
    EXPECT_EQ(plans[0].pieces.size(), 1u);
    EXPECT_EQ(plans[0].pieces[0].offset, 128);
    EXPECT_EQ(plans[1].width, 2);
    EXPECT_EQ(plans[1].pieces.size(), 2u);
}

TEST(OffloadPlan, EmptyTensorsTakeNoPlace) {
    const Tensors tensors({0, 8}, 0);
    EXPECT_EQ(offload_bytes(tensors.views()), Bytes{64});
    const auto plans = cuda::plan_offload(tensors.views());
    ASSERT_EQ(plans.size(), 1u);
    EXPECT_EQ(plans[0].pieces.size(), 1u);
}

TEST(OffloadPlan, ABufferMustBeAligned) {
    std::vector<std::uint64_t> buffer(8);
    EXPECT_THAT(
        [&] {
            run(OffloadPack{{}, buffer.data() + 1}, 0);
        },
        ThrowsMessage<CheckError>(HasSubstr("not 16-byte aligned")));
}

}  // namespace
}  // namespace rm
