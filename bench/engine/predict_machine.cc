#include <filesystem>
#include <thread>
#include <vector>

#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/engine/predict.h"
#include "engine/comm/transport/transport.h"
#include "engine/schedule/device_profile_json.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/measure_profile.h"

namespace rm::bench {
namespace {

DeviceProfile measure_alone(const CoreUse& use, Seconds budget) {
    const auto kernels = make_cpu_kernels({.num_threads = use.num_threads, .compute = use.compute});
    const auto wall = [] { return now({}); };
    return measure_profile(*kernels, {.budget = budget, .now = wall, .transfer_now = wall});
}

DeviceProfile measure_together(const CoreUse& use, Seconds budget) {
    std::vector<DeviceProfile> profiles(usize(use.num_users));
    std::vector<std::thread> users;
    for (DeviceProfile& profile : profiles)
        users.emplace_back([&profile, &use, budget] { profile = measure_alone(use, budget); });
    for (std::thread& user : users)
        user.join();
    return profiles.front();
}

constexpr std::int64_t kSmallMessage = 64, kLargeMessage = 1 << 20;
constexpr int kMessages = 200;

// Seconds of each exchange of messages of this size, as rank 0 sees them.
std::vector<double> exchange(std::int64_t size) {
    const auto hub = make_local_hub(2);
    std::vector<double> times;
    const auto run_rank = [&](int rank) {
        const auto transport =
            make_local_transport(hub, {.rank = rank, .num_ranks = 2, .peers = {1 - rank}});
        std::vector<std::byte> out(usize(size)), in(out.size());
        for (int i = 0; i < kMessages; ++i) {
            const double begin = now({});
            const MessageHandle received = transport->recv(1 - rank, in);
            const MessageHandle sent = transport->send(1 - rank, out);
            transport->wait(received);
            transport->wait(sent);
            if (rank == 0) times.push_back(now({}) - begin);
        }
    };
    std::thread other(run_rank, 1);
    run_rank(0);
    other.join();
    return times;
}

}  // namespace

std::string to_string(const CoreUse& use) {
    return format("cpu-{}-{}-threads{}", to_string(use.compute), use.num_threads,
                  use.num_users > 1 ? format("-{}-at-once", use.num_users) : "");
}

Result<DeviceProfile> MachineProfiles::make(const CoreUse& use) const {
    const std::string path = folder_ + "/" + to_string(use) + ".json";
    if (!folder_.empty() && std::filesystem::exists(path)) return read_device_profile(path);
    DeviceProfile profile = measure_together(use, budget_);
    profile.name = to_string(use);
    profile.provenance = measured_by(
        format("ring-bench predict --seconds {}", static_cast<std::int64_t>(budget_.value)));
    if (!folder_.empty()) RM_RETURN_IF_ERROR(write_device_profile(path, profile));
    return profile;
}

Result<const DeviceProfile*> MachineProfiles::of(const CoreUse& use) {
    auto known = profiles_.find(use);
    if (known == profiles_.end()) {
        RM_TRY(DeviceProfile profile, make(use));
        known = profiles_.emplace(use, std::move(profile)).first;
    }
    return &known->second;
}

LinkSpeed measure_local_link() {
    const double latency = median(exchange(kSmallMessage));
    const double moving = median(exchange(kLargeMessage)) - latency;
    return {Seconds{latency}, static_cast<double>(kLargeMessage - kSmallMessage) / moving};
}

}  // namespace rm::bench
