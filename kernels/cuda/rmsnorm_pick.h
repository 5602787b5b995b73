#pragma once

#include "kernels/kernels.h"

namespace rm::cuda {

// Threads of the block that keeps a row in registers; 0: the rows are too wide or not aligned.
int pick_threads(const RmsNormFwd& op);
int pick_threads(const RmsNormBwd& op);

}  // namespace rm::cuda
