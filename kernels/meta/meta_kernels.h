#pragma once

#include <memory>

#include "kernels/kernels.h"
#include "kernels/meta/schedule.h"

namespace rm {

struct DeviceProfile;

struct MetaOptions {
    NumericTypes types;
    // Asked for workspace and prepared sizes; null: the profile says them. It is made to hold one
    // prepared weight of each shape, since backends read sizes off those.
    Kernels* like = nullptr;
    const DeviceProfile* profile = nullptr;  // null: work takes no time
};

// A machine without memory that runs nothing: records every op, transfer, event and join of its
// streams in `recorder`, with the byte ranges that it reads and writes and its time by the profile.
// The addresses of tensors must not be touched. Borrows all. Checks shapes as every backend does.
// Without `like` and profile no op has a workspace, and a prepared weight is two copies in the
// compute type. Used by one thread, the recorder's.
std::unique_ptr<Kernels> make_meta_kernels(ScheduleRecorder& recorder, const MetaOptions& options);

}  // namespace rm
