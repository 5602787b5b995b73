#pragma once

#include <memory>

#include "kernels/device.h"

namespace rm {

// A host device whose memory is closed to the host, as a GPU's is: one arena that only running work
// of the device's own streams and the device's copies can touch. Code that accesses a tensor from
// the host (or from a host stream) crashes. `memory`: the size of the arena.
std::unique_ptr<Device> make_closed_device(Bytes memory = {std::int64_t{256} << 20});

// Queues a copy between two closed devices: a DeviceCopy.
void copy_between_closed(Device& sender, const TensorView& from, Device& receiver,
                         const TensorView& to, Stream& stream);

}  // namespace rm
