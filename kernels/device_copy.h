#pragma once

#include "kernels/device_library.h"

// Copies between two devices of one process. The engine needs none (its ranks have a device each);
// the probe of the connections inside a node does.
namespace rm {

// Queues a copy of `from`, on `sender`, to `to`, on `receiver`, on a stream of the sender: directly
// where the GPUs reach each other, else through the host. Equal sizes.
using DeviceCopy = void(Device& sender, const TensorView& from, Device& receiver,
                        const TensorView& to, Stream& stream);
constexpr const char* kDeviceCopyName = "rm_device_copy";

// The copy of the library's devices. Errors as those of load_device_kernels.
Result<DeviceCopy*> load_device_copy(DeviceLibrary library);

}  // namespace rm
