#pragma once

#include <cstdint>

namespace rm::cuda {

// Rows whose logits exist at once: enough that the products are limited by arithmetic, although
// each reads and writes the whole gradient of the head (V, C) once, and no more than 1 GiB of f32
// logits. A multiple of 64, at most 4,096; fewer when there are fewer rows.
std::int64_t pick_loss_rows(std::int64_t num_rows, std::int64_t V);

}  // namespace rm::cuda
