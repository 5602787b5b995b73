#pragma once

#include <vector>

#include "kernels/bench/bench.h"

// A bare loop over oneDNN's matrix product with packed weights: what our products are measured by.
// Empty when built without oneDNN, or when it has no product for the type on this CPU.
namespace rm::bench {

// y (T, N) = x (T, K) B (K, N), the rows dealt evenly to the threads.
std::vector<Contender> onednn_product(std::int64_t T, std::int64_t N, std::int64_t K,
                                      const Options& options);
// d_w (N, K) += d_y (T, N)^T x (T, K) in f32, the rows of d_w dealt evenly to the threads.
std::vector<Contender> onednn_weight_gradient(std::int64_t T, std::int64_t N, std::int64_t K,
                                              const Options& options);

}  // namespace rm::bench
