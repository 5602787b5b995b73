#include "worker/rank/preflight.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "kernels/meta/profile_samples.h"
#include "service/gpu/fitness.h"

namespace rm {
namespace {

// The driver and its services hold less of an idle GPU.
constexpr double kIdleShare = 0.05;
// Devices of a model differ by a few per cent; one that takes so much longer delays every rank.
constexpr double kSlow = 1.5;
constexpr Seconds kLongestCall{0.02};
constexpr Seconds kTimed{0.3};
constexpr int kLeastRounds = 3;
constexpr std::array<std::int64_t, 7> kSizes = {8192, 4096, 2048, 1024, 512, 256, 64};

const Gpu* find_gpu(const std::vector<Gpu>& gpus, const std::string& uuid) {
    const auto found = std::find_if(gpus.begin(), gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.facts.uuid == uuid; });
    return found == gpus.end() ? nullptr : &*found;
}

// Processes of other containers have memory and no number here.
std::string why_not_free(const Gpu& gpu, const GpuState& state) {
    std::string why = unfit_reason(state, {}, false);
    const auto idle = static_cast<std::int64_t>(static_cast<double>(gpu.memory.value) * kIdleShare);
    if (why.empty() && state.used.value > idle)
        why = format("busy: {} by processes that cannot be seen from here", state.used);
    return why;
}

double predicted(const DeviceProfile& profile, std::int64_t n) {
    const double flops =
        2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    return seconds_of(profile, "linear_fwd", {.amount = flops, .size = flops}).value;
}

// The largest product that a device of this kind does in a moment.
std::int64_t size_for(const DeviceProfile& profile) {
    const auto* found = std::find_if(kSizes.begin(), kSizes.end(), [&](std::int64_t n) {
        return predicted(profile, n) <= kLongestCall.value;
    });
    return found == kSizes.end() ? kSizes.back() : *found;
}

double measured(Kernels& kernels, std::int64_t n, const std::function<double()>& now_seconds) {
    ProfileSampler sampler(kernels, now_seconds);
    sampler.products(n, n, n);
    std::vector<ProfileSample>& samples = sampler.samples();
    const auto forward =
        std::find_if(samples.begin(), samples.end(),
                     [](const ProfileSample& sample) { return sample.op == "linear_fwd"; });
    RM_CHECK(forward != samples.end(), "a product has no forward sample");
    const double end = now_seconds() + kTimed.value;
    for (int round = 0; round < kLeastRounds || now_seconds() < end; ++round)
        sampler.run(*forward);
    return forward->seconds();
}

}  // namespace

void check_free(const Gpus& gpus, const std::string& uuid, const Looks& looks) {
    const std::vector<Gpu> all = gpus.list();
    const Gpu* gpu = find_gpu(all, uuid);
    if (gpu == nullptr) {
        throw DeviceFault(
            format("device lost: the driver shows no GPU {}; restart the machine", uuid));
    }
    std::string why;
    for (int look = 0; look < looks.count; ++look) {
        if (look > 0) looks.pause();
        why = why_not_free(*gpu, gpus.state(gpu->index));
        if (why.empty()) return;
    }
    throw DeviceFault("device " + why);
}

void check_free(const std::string& uuid) {
    const auto gpus = open_gpus();
    if (!gpus) return;
    check_free(**gpus, uuid,
               {.pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(500)); }});
}

std::string check_speed(Kernels& kernels, const DeviceProfile& profile,
                        const std::function<double()>& now_seconds) {
    const std::int64_t n = size_for(profile);
    const Seconds usual{predicted(profile, n)};
    const Seconds took{measured(kernels, n, now_seconds)};
    const std::string product = format("a product of {} x {} x {} takes {}", n, n, n, took);
    if (took.value <= kSlow * usual.value)
        return format("the device is as fast as its kind: {}, usually {}", product, usual);
    throw DeviceFault(format("device slow: {}, and {} on a device of its kind", product, usual));
}

}  // namespace rm
