// The calls that ranks make of NCCL, by one rank alone. With RM_KERNELS=cuda on a GPU and with the
// real library, which shows that our declarations are its own; otherwise on the stand-in.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string_view>

#include "engine/comm/nccl/nccl_groups.h"
#include "kernels/closed_device.h"
#include "kernels/device_library.h"

namespace rm {
namespace {

constexpr std::int64_t kCount = 1000;

bool on_a_gpu() {
    const char* backend = std::getenv("RM_KERNELS");
    return backend != nullptr && std::string_view(backend) == "cuda";
}

class NcclAlone : public testing::Test {
protected:
    void SetUp() override {
        if (on_a_gpu()) {
            auto loaded = load_device_kernels(DeviceLibrary::cuda, {});
            if (!loaded) GTEST_SKIP() << loaded.error().message;
            kernels_ = *std::move(loaded);
        } else {
            ASSERT_NE(::dlopen(RM_STANDIN_NCCL, RTLD_NOW), nullptr) << ::dlerror();
            closed_ = make_closed_device();
        }
        const auto api = nccl::open();
        if (!api) GTEST_SKIP() << api.error().message;
        api_ = *api;
        stream_ = device().make_stream("communication");
        nccl::UniqueId id;
        nccl::check(*api_, api_->GetUniqueId(&id), "ncclGetUniqueId");
        nccl::check(*api_, api_->CommInitRank(&comm_, 1, id, 0), "ncclCommInitRank");
    }
    void TearDown() override {
        if (comm_ != nullptr) api_->CommDestroy(comm_);
    }
    Device& device() { return kernels_ ? kernels_->device() : *closed_; }
    Tensor numbers(float first) {
        Tensor made(device(), MemoryKind::data, DType::f32, {kCount});
        std::vector<float> values(usize(kCount));
        std::iota(values.begin(), values.end(), first);
        device().write(values.data(), made);
        return made;
    }
    std::vector<float> read(const TensorView& x) {
        std::vector<float> values(usize(kCount));
        device().read(x, values.data());
        return values;
    }
    // Queues a call on the stream as the communicator does, and waits for it.
    template <typename Call>
    void play(std::string_view op, const Call& call) {
        stream_->launch({.op = op},
                        [&](nccl::NativeStream native) { nccl::check(*api_, call(native), op); });
        stream_->synchronize();
    }

    std::unique_ptr<Kernels> kernels_;
    std::unique_ptr<Device> closed_;
    const nccl::Api* api_ = nullptr;
    std::unique_ptr<Stream> stream_;
    nccl::Comm comm_ = nullptr;
};

TEST_F(NcclAlone, EachCollectiveOfOneRankLeavesItsNumbers) {
    const Tensor x = numbers(1);
    const std::vector<float> before = read(x);
    void* data = x->data();
    const auto n = usize(kCount);
    constexpr int kFloat = nccl::kFloat32;
    play("all_reduce_sum", [&](auto stream) {
        return api_->AllReduce(data, data, n, kFloat, nccl::kSum, comm_, stream);
    });
    EXPECT_EQ(read(x), before);
    play("reduce_scatter_sum", [&](auto stream) {
        return api_->ReduceScatter(data, data, n, kFloat, nccl::kSum, comm_, stream);
    });
    EXPECT_EQ(read(x), before);
    play("all_gather", [&](auto stream) {
        return api_->AllGather(data, data, n * sizeof(float), nccl::kUint8, comm_, stream);
    });
    EXPECT_EQ(read(x), before);
    play("broadcast", [&](auto stream) {
        return api_->Broadcast(data, data, n * sizeof(float), nccl::kUint8, 0, comm_, stream);
    });
    EXPECT_EQ(read(x), before);
    play("reduce", [&](auto stream) {
        return api_->Reduce(data, data, n, kFloat, nccl::kSum, 0, comm_, stream);
    });
    EXPECT_EQ(read(x), before);
}

TEST_F(NcclAlone, TellsOfNoErrorAndItsVersion) {
    int code = -1;
    EXPECT_EQ(api_->CommGetAsyncError(comm_, &code), nccl::kSuccess);
    EXPECT_EQ(code, nccl::kSuccess);
    EXPECT_GE(api_->version, nccl::kOldestVersion);
    EXPECT_EQ(api_->CommAbort(comm_), nccl::kSuccess);
    comm_ = nullptr;
}

}  // namespace
}  // namespace rm
