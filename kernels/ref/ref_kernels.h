#pragma once

#include <memory>

#include "kernels/kernels.h"

namespace rm {

// The oracle: plain fp64 loops, every tensor fp64. Single threaded, slow, obviously right. Tests
// only.
std::unique_ptr<Kernels> make_ref_kernels();

}  // namespace rm
