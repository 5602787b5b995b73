#pragma once

#include <functional>
#include <string>

#include "kernels/meta/device_profile.h"
#include "service/gpu/gpus.h"

// A rank looks at its device before it meets the others: a GPU that is taken or slow then costs
// seconds, and no rank waits for it. Each failure is a DeviceFault, which keeps the job off that
// device.
namespace rm {

// How often others' processes are looked for before they are believed: the driver takes a moment
// to free the memory of a process that has ended.
struct Looks {
    int count = 4;
    std::function<void()> pause;  // between two
};

// Whether this process may have the GPU of that UUID, before CUDA starts. Throws DeviceFault:
// "device busy: 12.3 GiB by pid 4242 (python)", "device lost: ...".
void check_free(const Gpus& gpus, const std::string& uuid, const Looks& looks);
// The same for a rank; does nothing where the driver cannot be asked.
void check_free(const std::string& uuid);

// Times a product on the device beside what `profile` says, which was measured on a device of this
// model; takes about a third of a second. Throws DeviceFault: "device slow: a product of 4096 x
// 4096 x 4096 takes 1.4 ms, and 0.6 ms on a device of its kind". Returns a note for the log.
std::string check_speed(Kernels& kernels, const DeviceProfile& profile,
                        const std::function<double()>& now_seconds);

}  // namespace rm
