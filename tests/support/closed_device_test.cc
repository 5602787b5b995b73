#include "kernels/closed_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rm::test {
namespace {

using Numbers = std::vector<float>;

class ClosedDevice : public ::testing::Test {
protected:
    Numbers contents(const TensorView& x) {
        Numbers numbers(static_cast<std::size_t>(x.num_elements()));
        device_->read(x, numbers.data());
        return numbers;
    }
    std::unique_ptr<Device> device_ = make_closed_device();
    Tensor x_{*device_, MemoryKind::data, DType::f32, {4}};
};

TEST_F(ClosedDevice, IsReachedByCopies) {
    EXPECT_FALSE(device_->host_visible());
    EXPECT_TRUE(std::isnan(contents(x_)[0]));
    const Numbers numbers = {1, 2, 3, 4};
    device_->write(numbers.data(), x_);
    EXPECT_EQ(contents(x_), numbers);
    device_->zero(x_->rows(1, 2));
    EXPECT_EQ(contents(x_), (Numbers{1, 0, 0, 4}));
}

TEST_F(ClosedDevice, IsOpenToWhatItsStreamsPlay) {
    const auto stream = device_->make_stream("compute");
    const Numbers numbers = {1, 2, 3, 4};
    device_->upload(numbers.data(), x_, *stream);
    stream->enqueue("double", [this] {
        for (int i = 0; i < 4; ++i)
            x_->as<float>()[i] *= 2;
    });
    Numbers back(4);
    device_->download(x_, back.data(), *stream);
    stream->synchronize();
    EXPECT_EQ(back, (Numbers{2, 4, 6, 8}));
}

TEST_F(ClosedDevice, OrdersHostStreamsWithItsOwn) {
    const auto compute = device_->make_stream("compute");
    const auto host = device_->make_host_stream("host");
    const auto made = device_->make_event(), copied = device_->make_event();
    Numbers seen(4);
    compute->enqueue("fill", [this] { std::fill_n(x_->as<float>(), 4, 7.f); });
    compute->record(*made);
    host->wait(*made);
    host->enqueue("copy", [&] { device_->read(x_, seen.data()); });
    host->record(*copied);
    compute->wait(*copied);
    compute->enqueue("clear", [this] { std::fill_n(x_->as<float>(), 4, 0.f); });
    compute->synchronize();
    EXPECT_EQ(seen, Numbers(4, 7));
    EXPECT_EQ(contents(x_), Numbers(4, 0));
}

TEST_F(ClosedDevice, GivesMemoryBackAndKeepsNeighboursApart) {
    for (int round = 0; round < 3; ++round) {
        const Tensor a(*device_, MemoryKind::data, DType::f32, {100});
        const Tensor b(*device_, MemoryKind::data, DType::f32, {100});
        device_->zero(a);
        EXPECT_TRUE(std::isnan(contents(b)[0]));
        EXPECT_NE(a->data(), b->data());
    }
    EXPECT_TRUE(std::isnan(contents(x_)[3]));
    // Freed neighbours grow together again: nearly all of the arena fits.
    const Buffer most = device_->allocate({(std::int64_t{256} << 20) - 4096}, MemoryKind::data);
    EXPECT_NE(most.data(), nullptr);
}

using ClosedDeviceDeathTest = ClosedDevice;

TEST_F(ClosedDeviceDeathTest, EndsHostCodeThatTouchesATensor) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(x_->as<float>()[0] = 1, "");
}

TEST_F(ClosedDeviceDeathTest, EndsAHostStreamThatTouchesATensor) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto touch = [this] {
        const auto host = device_->make_host_stream("host");
        host->enqueue("touch", [this] { x_->as<float>()[0] = 1; });
        host->synchronize();
    };
    EXPECT_DEATH(touch(), "");
}

TEST_F(ClosedDeviceDeathTest, EndsAHostCallThatTouchesATensor) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto touch = [this] {
        const auto stream = device_->make_stream("compute");
        stream->call_host("touch", [this] { x_->as<float>()[0] = 1; });
        stream->synchronize();
    };
    EXPECT_DEATH(touch(), "");
}

}  // namespace
}  // namespace rm::test
