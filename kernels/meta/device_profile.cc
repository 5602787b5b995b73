#include "kernels/meta/device_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

namespace rm {
namespace {

double speed_at(std::span<const SpeedPoint> points, double size) {
    if (size <= points.front().size) return points.front().per_sec;
    if (size >= points.back().size) return points.back().per_sec;
    const auto above = std::find_if(points.begin(), points.end(),
                                    [size](const SpeedPoint& p) { return p.size > size; });
    const SpeedPoint& low = *std::prev(above);
    const double share = std::log(size / low.size) / std::log(above->size / low.size);
    return low.per_sec + share * (above->per_sec - low.per_sec);
}

double seconds_at(const OpSpeed& speed, const OpWork& work) {
    if (work.amount == 0) return speed.overhead.value;
    return speed.overhead.value + work.amount / speed_at(speed.points, work.size);
}

std::span<const OpSpeed> speeds_of(const DeviceProfile& profile, std::string_view op) {
    const auto is_op = [op](const OpSpeed& speed) { return speed.op == op; };
    const auto first = std::find_if(profile.ops.begin(), profile.ops.end(), is_op);
    return {first, std::find_if_not(first, profile.ops.end(), is_op)};
}

Status check_speed(const OpSpeed& speed) {
    if (speed.overhead.value < 0)
        return invalid_argument("{}: overhead {} s", speed.op, speed.overhead.value);
    if (speed.workspace.value < 0)
        return invalid_argument("{}: workspace {} bytes", speed.op, speed.workspace.value);
    if (speed.points.empty()) return invalid_argument("{}: no points", speed.op);
    double size = 0;
    for (const SpeedPoint& point : speed.points) {
        if (!(point.size > size))
            return invalid_argument("{}: size {} after {}; sizes ascend from above 0", speed.op,
                                    point.size, size);
        if (!(point.per_sec > 0))
            return invalid_argument("{}: speed {} at size {}", speed.op, point.per_sec, point.size);
        size = point.size;
    }
    return {};
}

constexpr std::array kFp8Ops = {Quantize::kName, Fp8Scales::kName, Fp8LinearFwd::kName,
                                Fp8LinearBwdInput::kName, Fp8LinearBwdWeight::kName};

constexpr std::array kFp8BlockOps = {Quantize::kBlockName, Fp8LinearFwd::kBlockName,
                                     Fp8LinearBwdInput::kBlockName, Fp8LinearBwdWeight::kBlockName};

constexpr std::array kAttention8Ops = {AttentionFwd8::kName, AttentionBwd8::kName};

// Plans are of training; a token at a time is not measured.
constexpr std::array kDecodingOps = {AttentionMerge::kName};

using OpNames = std::span<const std::string_view>;

bool may_lack(std::string_view op) {
    const auto has = [op](OpNames ops) {
        return std::find(ops.begin(), ops.end(), op) != ops.end();
    };
    return has(kFp8Ops) || has(kFp8BlockOps) || has(kAttention8Ops) || has(kDecodingOps);
}

bool has_speeds_of(const DeviceProfile& profile, OpNames ops) {
    return std::all_of(ops.begin(), ops.end(),
                       [&](std::string_view op) { return !speeds_of(profile, op).empty(); });
}

// One speed, or several by ascending head dim, next to each other.
Status check_op(const DeviceProfile& profile, std::string_view op) {
    const auto speeds = speeds_of(profile, op);
    if (speeds.empty() && may_lack(op)) return {};
    if (speeds.empty()) return invalid_argument("no speed of {}", op);
    const auto all = std::count_if(profile.ops.begin(), profile.ops.end(),
                                   [op](const OpSpeed& speed) { return speed.op == op; });
    if (all != std::ssize(speeds)) return invalid_argument("the speeds of {} stand apart", op);
    for (std::size_t i = 1; i < speeds.size(); ++i) {
        if (speeds[i].head_dim <= speeds[i - 1].head_dim)
            return invalid_argument("{}: head dim {} after {}", op, speeds[i].head_dim,
                                    speeds[i - 1].head_dim);
    }
    return {};
}

}  // namespace

bool computes_fp8(const DeviceProfile& profile) {
    return has_speeds_of(profile, kFp8Ops);
}
bool computes_fp8_blocks(const DeviceProfile& profile) {
    return has_speeds_of(profile, kFp8BlockOps);
}

bool computes_attention_8bit(const DeviceProfile& profile) {
    return has_speeds_of(profile, kAttention8Ops);
}

std::vector<std::string_view> profiled_ops() {
#define RM_OP(Op) Op::kName,
    std::vector<std::string_view> ops = {RM_EACH_OP(RM_OP)};
#undef RM_OP
    ops.insert(ops.end(), kFp8BlockOps.begin(), kFp8BlockOps.end());
    ops.insert(ops.end(), {"prepare", "upload", "download"});
    return ops;
}

namespace {

Status check_rates(std::string_view name, const TransferRates& rates) {
    if (rates.upload >= 0 && rates.download >= 0) return {};
    return invalid_argument("transfers: {} is {} and {}; bytes a second, 0: not measured", name,
                            rates.upload, rates.download);
}

Status check_transfers(const SharedTransfers& transfers) {
    if (transfers.busy_devices < 0)
        return invalid_argument("transfers: busy_devices is {}", transfers.busy_devices);
    RM_RETURN_IF_ERROR(check_rates("both_ways", transfers.both_ways));
    RM_RETURN_IF_ERROR(check_rates("busy", transfers.busy));
    return check_rates("busy_both_ways", transfers.busy_both_ways);
}

}  // namespace

Status check_profile(const DeviceProfile& profile) {
    const auto known = profiled_ops();
    for (const OpSpeed& speed : profile.ops) {
        if (std::find(known.begin(), known.end(), speed.op) == known.end())
            return invalid_argument("{} is no op", speed.op);
        RM_RETURN_IF_ERROR(check_speed(speed));
    }
    for (const std::string_view op : known)
        RM_RETURN_IF_ERROR(check_op(profile, op));
    if (!(profile.peak_flops > 0)) return invalid_argument("peak_flops is {}", profile.peak_flops);
    if (profile.held.value < 0 || profile.prepared_copies < 0)
        return invalid_argument("held {} bytes, prepared_copies {}", profile.held.value,
                                profile.prepared_copies);
    return check_transfers(profile.transfers);
}

namespace {

std::span<const OpSpeed> known_speeds(const DeviceProfile& profile, std::string_view op) {
    const auto speeds = speeds_of(profile, op);
    RM_CHECK(!speeds.empty(), "the profile {} has no speed of {}", profile.name, op);
    return speeds;
}

// Between the head dims of the speeds; there is one at least.
Seconds seconds_between(std::span<const OpSpeed> speeds, const OpWork& work) {
    const auto above = std::find_if(speeds.begin(), speeds.end(), [&](const OpSpeed& speed) {
        return speed.head_dim >= work.head_dim;
    });
    if (above == speeds.end()) return {seconds_at(speeds.back(), work)};
    if (above == speeds.begin() || above->head_dim == work.head_dim)
        return {seconds_at(*above, work)};
    const OpSpeed& below = *std::prev(above);
    const double share = static_cast<double>(work.head_dim - below.head_dim) /
                         static_cast<double>(above->head_dim - below.head_dim);
    return {(1 - share) * seconds_at(below, work) + share * seconds_at(*above, work)};
}

}  // namespace

const OpSpeed& speed_of(const DeviceProfile& profile, std::string_view op) {
    return known_speeds(profile, op).front();
}

Seconds seconds_of(const DeviceProfile& profile, std::string_view op, const OpWork& work) {
    return seconds_between(known_speeds(profile, op), work);
}

OpTimes::OpTimes(const DeviceProfile* profile, std::string_view op) : profile_(profile), op_(op) {
    if (profile != nullptr) speeds_ = speeds_of(*profile, op);
}

Seconds OpTimes::of(const OpWork& work) const {
    if (profile_ == nullptr) return {};
    RM_CHECK(!speeds_.empty(), "the profile {} has no speed of {}", profile_->name, op_);
    if (answer_.value < 0 || last_ != work) {
        last_ = work;
        answer_ = seconds_between(speeds_, work);
    }
    return answer_;
}

DeviceProfile slowed(DeviceProfile profile, double times) {
    for (OpSpeed& op : profile.ops) {
        op.overhead = {times * op.overhead.value};
        for (SpeedPoint& point : op.points)
            point.per_sec /= times;
    }
    SharedTransfers& transfers = profile.transfers;
    for (TransferRates* rates :
         {&transfers.both_ways, &transfers.busy, &transfers.busy_both_ways}) {
        rates->upload /= times;
        rates->download /= times;
    }
    return profile;
}

}  // namespace rm
