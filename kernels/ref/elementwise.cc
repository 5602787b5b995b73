#include <cstring>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

template <typename From, typename To>
void convert(const TensorView& from, const TensorView& to) {
    const From* source = from.as<From>();
    To* target = to.as<To>();
    for (std::int64_t i = 0; i < from.num_elements(); ++i)
        target[i] = static_cast<To>(source[i]);
}

}  // namespace

void run(const FillZero& op) {
    std::memset(op.x.data(), 0, op.x.bytes().size());
}

void run(const Copy& op) {
    RM_CHECK(op.from.num_elements() == op.to.num_elements(), "copy: from {} to {}",
             shape_string(op.from), shape_string(op.to));
    const DType from = op.from.dtype();
    const DType to = op.to.dtype();
    if (from == to) {
        std::memmove(op.to.data(), op.from.data(), op.to.bytes().size());
    } else if (from == DType::f32 && to == DType::f64) {
        convert<float, double>(op.from, op.to);
    } else {
        RM_CHECK(from == DType::f64 && to == DType::f32, "copy: ref does not convert {} to {}",
                 to_string(from), to_string(to));
        convert<double, float>(op.from, op.to);
    }
}

void run(const Add& op) {
    RM_CHECK(op.x.num_elements() == op.y.num_elements(), "add: x {} to y {}", shape_string(op.x),
             shape_string(op.y));
    const double* x = op.x.as<double>();
    double* y = op.y.as<double>();
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i)
        y[i] += x[i];
}

}  // namespace rm::ref
