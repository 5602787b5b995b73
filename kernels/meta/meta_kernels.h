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

// The machine that has no memory and runs nothing: every op, transfer, event and join of its
// streams is written into `recorder`, with the byte ranges it reads and writes and the time the
// profile gives it. Tensors have addresses that nobody may touch. Borrows all. Checks shapes as
// every backend does. Without `like` and profile no op has a workspace, and a prepared weight is
// two copies in the compute type. One thread, the recorder's.
std::unique_ptr<Kernels> make_meta_kernels(ScheduleRecorder& recorder, const MetaOptions& options);

}  // namespace rm
