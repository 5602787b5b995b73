#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/kernels.h"

namespace rm {

// A weight (N, K) row-major, as it is.
template <DType kStored>
class DenseWeight final : public PreparedWeight {
public:
    DenseWeight(Device& device, std::int64_t num_rows, std::int64_t num_columns)
        : weight_(device, MemoryKind::weights, kStored, {num_rows, num_columns}) {}
    std::int64_t num_rows() const override { return weight_->dim(0); }
    std::int64_t num_columns() const override { return weight_->dim(1); }
    const TensorView& view() const { return weight_; }

private:
    Tensor weight_;
};

// The weight as the backend made it.
template <typename Own>
const Own& own_weight(std::string_view backend, const PreparedWeight* prepared) {
    const auto* own = dynamic_cast<const Own*>(prepared);
    RM_CHECK(own != nullptr, "{} was given a prepared weight of another backend, or none", backend);
    return *own;
}

// The prepared weight among an op's operands; null: the op takes none.
template <typename Op>
auto prepared_of(Op& op) {
    if constexpr (requires { op.head; }) {
        return &op.head;
    } else if constexpr (requires { op.weight->num_rows(); }) {
        return &op.weight;
    } else {
        return nullptr;
    }
}
template <typename Op>
constexpr bool takes_prepared = !std::is_null_pointer_v<decltype(prepared_of(std::declval<Op&>()))>;

}  // namespace rm
