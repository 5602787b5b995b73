#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/kernels.h"

namespace rm {

// A weight (N, K) row-major; in FP8 the numbers it is rounded to.
template <DType kStored>
class DenseWeight final : public PreparedWeight {
public:
    DenseWeight(Device& device, std::int64_t num_rows, std::int64_t num_columns, WeightForm form)
        : form_(form), weight_(device, MemoryKind::weights, kStored, {num_rows, num_columns}) {}
    WeightForm form() const override { return form_; }
    std::int64_t num_rows() const override { return weight_->dim(0); }
    std::int64_t num_columns() const override { return weight_->dim(1); }
    const TensorView& view() const { return weight_; }

private:
    WeightForm form_;
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
