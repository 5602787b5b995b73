// Tests the Device that wraps the CUDA runtime; needs a machine with a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "kernels/device_library.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<float>;

class CudaDevice : public testing::Test {
protected:
    void SetUp() override {
        auto loaded = load_device_kernels(DeviceLibrary::cuda, {});
        if (!loaded) GTEST_SKIP() << loaded.error().message;
        kernels_ = *std::move(loaded);
    }
    Device& device() { return kernels_->device(); }
    Numbers read(const TensorView& x) {
        Numbers numbers(static_cast<std::size_t>(x.num_elements()));
        device().read(x, numbers.data());
        return numbers;
    }
    // Queues a long sum of ones, which keeps a stream busy for a while.
    void queue_adds(Stream& stream, const Tensor& x, const Tensor& y, int times) {
        for (int i = 0; i < times; ++i)
            kernels_->run(Add{.x = x, .y = y}, stream);
    }
    Tensor filled(std::int64_t count, float value) {
        Tensor tensor(device(), MemoryKind::data, DType::f32, {count});
        const Numbers numbers(static_cast<std::size_t>(count), value);
        device().write(numbers.data(), tensor);
        return tensor;
    }
    static constexpr std::int64_t kLarge = 16 << 20;
    std::unique_ptr<Kernels> kernels_;
};

TEST_F(CudaDevice, CopiesFromAnyThreadAndInStreamOrder) {
    const Tensor x = filled(1000, 1);
    Numbers back(1000);
    std::thread([&] { back = read(x); }).join();
    EXPECT_EQ(back, Numbers(1000, 1));
    const auto stream = device().make_stream("compute");
    const Tensor sum = filled(1000, 0);
    const Numbers twos(1000, 2);
    device().upload(twos.data(), x, *stream);
    kernels_->run(Add{.x = x, .y = sum}, *stream);
    kernels_->run(Add{.x = x, .y = sum}, *stream);
    device().download(sum, back.data(), *stream);
    stream->synchronize();
    EXPECT_EQ(back, Numbers(1000, 4));
    device().zero(sum);
    EXPECT_EQ(read(sum), Numbers(1000, 0));
}

TEST_F(CudaDevice, OrdersHostStreamsWithItsOwn) {
    const auto compute = device().make_stream("compute");
    const auto host = device().make_host_stream("host");
    const auto made = device().make_event(), seen_it = device().make_event();
    const Tensor x = filled(kLarge, 1), y = filled(kLarge, 0);
    float seen = -1;
    queue_adds(*compute, x, y, 50);
    compute->record(*made);
    host->wait(*made);
    host->enqueue("read", [&] { device().read(y->rows(kLarge - 1, 1), &seen); });
    host->record(*seen_it);
    compute->wait(*seen_it);
    kernels_->run(FillZero{.x = y}, *compute);
    compute->synchronize();
    EXPECT_EQ(seen, 50);
    EXPECT_EQ(read(y)[0], 0);
}

// Guards against a trap of several ranks in one process: a stream that waits for the host must not
// block another rank's allocations and releases.
TEST_F(CudaDevice, AllocatesAndFreesWhileAStreamWaitsForTheHost) {
    const auto compute = device().make_stream("compute");
    const auto host = device().make_host_stream("host");
    const auto opened = device().make_event();
    std::atomic<bool> open = false;
    host->enqueue("gate", [&] {
        while (!open)
            std::this_thread::yield();
    });
    host->record(*opened);
    compute->wait(*opened);
    const Tensor x = filled(1000, 1), y = filled(1000, 0);
    kernels_->run(Add{.x = x, .y = y}, *compute);
    { const Buffer other = device().allocate({1 << 20}, MemoryKind::data); }
    open = true;
    compute->synchronize();
    EXPECT_EQ(read(y), Numbers(1000, 1));
}

TEST_F(CudaDevice, CallsTheHostInStreamOrder) {
    const auto stream = device().make_stream("compute");
    const Tensor x = filled(kLarge, 1), y = filled(kLarge, 0);
    std::vector<int> order;
    stream->call_host("first", [&] { order.push_back(1); });
    queue_adds(*stream, x, y, 20);
    stream->call_host("second", [&] { order.push_back(2); });
    stream->synchronize();
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(CudaDevice, OrdersStreamsByTheLatestRecord) {
    const auto a = device().make_stream("a"), b = device().make_stream("b");
    const auto event = device().make_event();
    const Tensor x = filled(kLarge, 1), y = filled(kLarge, 0), z = filled(kLarge, 0);
    for (int round = 1; round <= 3; ++round) {
        queue_adds(*a, x, y, 10);
        a->record(*event);
        b->wait(*event);
        kernels_->run(Copy{.from = y, .to = z}, *b);
        b->synchronize();
        EXPECT_EQ(read(z->rows(kLarge - 1, 1))[0], static_cast<float>(10 * round));
    }
}

TEST_F(CudaDevice, KeepsTheFirstErrorOfAStreamWithItsOp) {
    const auto stream = device().make_stream("compute");
    stream->enqueue("broken", [] { throw std::runtime_error("planted"); });
    const Tensor x = filled(10, 1), y = filled(10, 0);
    kernels_->run(Add{.x = x, .y = y}, *stream);
    for (int i = 0; i < 2; ++i) {
        try {
            stream->synchronize();
            FAIL() << "no error";
        } catch (const StreamError& error) {
            EXPECT_THAT(error.what(), HasSubstr("broken on stream compute: planted"));
        }
    }
    EXPECT_EQ(read(y), Numbers(10, 0));
}

TEST_F(CudaDevice, RefusesWhatDoesNotFitAndGoesOn) {
    EXPECT_THROW(device().allocate({std::int64_t{1} << 50}, MemoryKind::data), OutOfMemory);
    EXPECT_EQ(read(filled(10, 3)), Numbers(10, 3));
}

}  // namespace
}  // namespace rm
