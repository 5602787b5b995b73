#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/meta/op_work.h"
#include "kernels/tensor.h"

// How long ops take on a machine, as data: measured on one (measure_profile.h) or made of published
// figures. File format and the meaning of each figure: docs/formats/device_profile.md.
namespace rm {

// The machine's amount per second at work of this size. Size and amount: op_work.h.
struct SpeedPoint {
    double size = 0;
    double per_sec = 0;
    bool operator==(const SpeedPoint&) const = default;
};

// An op takes overhead + amount / speed. Between two points the speed is linear in the logarithm of
// the size, outside it is that of the nearest. Transfers' overhead is their latency.
struct OpSpeed {
    std::string op;             // as timed_as() calls it; prepare, upload and download too
    std::int64_t head_dim = 0;  // of attention; between two the time is interpolated
    Seconds overhead;
    std::vector<SpeedPoint> points;  // by ascending size, at least one
    Bytes workspace;                 // that the op asks for, whatever its shape
    bool operator==(const OpSpeed&) const = default;
};

// Bytes a second of large copies between the host and a device. 0: not measured.
struct TransferRates {
    double upload = 0;
    double download = 0;
    bool operator==(const TransferRates&) const = default;
};

// Copies that share a link; the speeds of upload and download are those of one copy at a time.
struct SharedTransfers {
    TransferRates both_ways;  // an upload and a download at once
    int busy_devices = 0;     // other devices of the machine, which do the same meanwhile
    TransferRates busy;       // all upload, or all download
    TransferRates busy_both_ways;
    bool operator==(const SharedTransfers&) const = default;
};

struct DeviceProfile {
    std::string name;
    std::string provenance;      // measured how, on what, when; or whose figures and assumptions
    DType compute = DType::f32;  // what the speeds are of
    double peak_flops = 0;       // dense products, a second
    double fp8_peak_flops = 0;   // likewise in FP8; 0: it has none, or they were not measured
    Bytes memory;                // of the device, all in all; 0: unknown
    Bytes held;                  // by libraries and the driver, outside all that is planned
    int prepared_copies = 0;     // of a weight, in the compute type
    SharedTransfers transfers;   // of a device with memory of its own
    std::vector<OpSpeed> ops;    // those of one op by ascending head dim
    bool operator==(const DeviceProfile&) const = default;
};

// invalid_argument naming the figure: an op missing or unknown, points out of order, a speed that
// is not positive.
Status check_profile(const DeviceProfile& profile);

// The op must be there.
const OpSpeed& speed_of(const DeviceProfile& profile, std::string_view op);
Seconds seconds_of(const DeviceProfile& profile, std::string_view op, const OpWork& work);

// Whether the profile has the speeds of the ops in FP8: of a device that has no such products it
// has none, nor does one that was measured before there were these ops.
bool computes_fp8(const DeviceProfile& profile);
// Likewise of those on operands with scales of blocks.
bool computes_fp8_blocks(const DeviceProfile& profile);
// Likewise of AttentionFwd8 and AttentionBwd8.
bool computes_attention_8bit(const DeviceProfile& profile);

// The speeds of one op, found once; of a dry run, which asks the same again and again.
class OpTimes {
public:
    OpTimes() = default;  // nothing takes time
    // Borrows the profile; null: nothing takes time. The op must be there when its time is asked.
    OpTimes(const DeviceProfile* profile, std::string_view op);

    Seconds of(const OpWork& work) const;
    Bytes workspace() const { return speeds_.empty() ? Bytes{} : speeds_.front().workspace; }

private:
    const DeviceProfile* profile_ = nullptr;
    std::string_view op_;
    std::span<const OpSpeed> speeds_;
    mutable OpWork last_;  // asked for, and its answer
    mutable Seconds answer_{-1};
};

// The same device where all work takes `times` as long.
DeviceProfile slowed(DeviceProfile profile, double times);

// Every name that a profile must have: all ops, prepare, upload, download; those in FP8, and
// attention in 8 bits, it may lack.
std::vector<std::string_view> profiled_ops();

// L40S, A100, H100 and H200 by published figures and assumed efficiencies, which they name.
std::vector<DeviceProfile> published_profiles();

}  // namespace rm
