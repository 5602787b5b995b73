#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "kernels/device.h"

namespace rm::test {

// A host device that calls the watcher before every op, on the stream's own thread: the watcher may
// block the stream, and an exception from it fails the op.
using OpWatcher = std::function<void(std::string_view stream, std::string_view op)>;

// Applies to the devices that the calling thread makes from now on.
void set_op_watcher(OpWatcher watcher);
std::unique_ptr<Device> make_watched_device();

}  // namespace rm::test
