#include "kernels/cuda/pick.h"

namespace rm::cuda {

bool starts_are_aligned(std::initializer_list<TensorView> tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const TensorView& tensor) {
        return reinterpret_cast<std::uintptr_t>(tensor.data()) % 16 == 0;
    });
}

bool rows_are_aligned(std::int64_t row, std::initializer_list<TensorView> tensors) {
    return row % 8 == 0 && starts_are_aligned(tensors);
}

}  // namespace rm::cuda
