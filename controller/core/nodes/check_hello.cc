#include <algorithm>
#include <set>

#include "base/ids.h"
#include "controller/core/input.h"

namespace rm {
namespace {

// N-1; there was no protocol 0.
constexpr std::uint32_t kOldestProtocol = kProtocol > 1 ? kProtocol - 1 : 1;

constexpr std::size_t kLongestProfile = 256 << 10;  // ten times as long as any

constexpr std::size_t kMaxDataAddresses = 16;  // a worker offers 6; the survey tries each

constexpr std::int64_t kBelievedAlways = std::int64_t{1} << 40;  // whatever the clock says
constexpr std::int64_t kBelievedPerSecond = std::int64_t{1} << 20;
constexpr std::int64_t kLastSecond = std::int64_t{1} << 35;  // since 1970: a thousand years
static_assert(kBelievedAlways + kLastSecond * kBelievedPerSecond <= kHighestEpoch.value / 4 * 3,
              "at least a quarter of the epochs is left for attempts");

}  // namespace

Status check_hello(const Hello& hello, const ClusterId& cluster) {
    if (hello.protocol > kProtocol || hello.protocol < kOldestProtocol) {
        const std::string served = kOldestProtocol == kProtocol
                                       ? format("{}", kProtocol)
                                       : format("{} and {}", kOldestProtocol, kProtocol);
        return make_error(
            ErrorCode::failed_precondition,
            "worker {} speaks protocol {}; this controller serves {}. Install the same "
            "version of Ringmaster on both",
            hello.node, hello.protocol, served);
    }
    if (hello.node.empty()) return invalid_argument("the hello has no node id");
    if (!hello.cluster.empty() && hello.cluster != cluster) {
        return make_error(
            ErrorCode::failed_precondition,
            "worker {} belongs to cluster {}, this is {}; to move it, give it an empty "
            "state directory",
            hello.node, hello.cluster, cluster);
    }
    std::set<int> indices;
    for (const DeviceInfo& device : hello.inventory.devices) {
        if (indices.insert(device.index).second) continue;
        return invalid_argument("worker {} lists device {} twice", hello.node, device.index);
    }
    const auto num_addresses = hello.data_addresses.size();
    if (num_addresses > kMaxDataAddresses) {
        return invalid_argument("worker {} offers {} data addresses; at most {}", hello.node,
                                num_addresses, kMaxDataAddresses);
    }
    for (const MeasuredProfile& profile : hello.profiles) {
        if (profile.text.size() <= kLongestProfile) continue;
        return invalid_argument("worker {} sends a profile of {} with {} bytes; at most {}",
                                hello.node, profile.kind, profile.text.size(), kLongestProfile);
    }
    const std::string where = format("worker {} reported a job", hello.node);
    for (const AttemptStatus& status : hello.attempts)
        RM_RETURN_IF_ERROR(within(where, check_job_id(status.job)));
    for (const LaunchAttempt& launch : hello.launches)
        RM_RETURN_IF_ERROR(within(where, check_job_id(launch.job)));
    return {};
}

Epoch highest_believable(WallTime now) {
    const std::int64_t seconds = std::clamp<std::int64_t>(now.micros / 1'000'000, 0, kLastSecond);
    return {kBelievedAlways + seconds * kBelievedPerSecond};
}

Status check_epochs(const Hello& hello, Epoch next, WallTime now) {
    std::set<Epoch> epochs{hello.highest_epoch};
    for (const AttemptStatus& status : hello.attempts)
        epochs.insert(status.epoch);
    for (const LaunchAttempt& launch : hello.launches)
        epochs.insert(launch.epoch);
    const Epoch lowest = *epochs.begin();
    const Epoch highest = *epochs.rbegin();
    const bool can_be = highest < next || highest <= highest_believable(now);
    if (lowest.value >= 0 && can_be) return {};
    return invalid_argument(
        "worker {} reported epoch {}; the next of this cluster is {}. Its identity.json is "
        "damaged or belongs to another cluster; give it an empty state directory once nothing runs "
        "there",
        hello.node, lowest.value < 0 ? lowest : highest, next);
}

}  // namespace rm
