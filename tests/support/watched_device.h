#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "kernels/device.h"

namespace rm::test {

// A host device that tells of every op as it is about to run, on the stream's own thread: what the
// watcher does holds the stream up, and what it throws fails the op.
using OpWatcher = std::function<void(std::string_view stream, std::string_view op)>;

// Of the devices that the calling thread makes from here on.
void set_op_watcher(OpWatcher watcher);
std::unique_ptr<Device> make_watched_device();

}  // namespace rm::test
