#include <algorithm>
#include <cstring>

#include "kernels/bf16.h"
#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

template <typename From, typename To>
To convert_number(From x) {
    return static_cast<To>(x);
}
template <>
Bf16 convert_number(double x) {
    return to_bf16(static_cast<float>(x));
}
template <>
double convert_number(Bf16 x) {
    return from_bf16(x);
}

template <typename From, typename To>
void convert(const TensorView& from, const TensorView& to) {
    const From* source = from.as<From>();
    std::transform(source, source + from.num_elements(), to.as<To>(), convert_number<From, To>);
}

}  // namespace

void run(const FillZero& op, const Dims&) {
    std::memset(op.x.data(), 0, op.x.bytes().size());
}

void run(const Copy& op, const Dims&) {
    const DType from = op.from.dtype();
    const DType to = op.to.dtype();
    if (from == to) {
        std::memmove(op.to.data(), op.from.data(), op.to.bytes().size());
    } else if (from == DType::f32 && to == DType::f64) {
        convert<float, double>(op.from, op.to);
    } else if (from == DType::bf16 && to == DType::f64) {
        convert<Bf16, double>(op.from, op.to);
    } else if (from == DType::f64 && to == DType::bf16) {
        convert<double, Bf16>(op.from, op.to);
    } else {
        RM_CHECK(from == DType::f64 && to == DType::f32, "copy: ref does not convert {} to {}",
                 to_string(from), to_string(to));
        convert<double, float>(op.from, op.to);
    }
}

void run(const Add& op, const Dims&) {
    const double* x = op.x.as<double>();
    double* y = op.y.as<double>();
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i)
        y[i] += x[i];
}

}  // namespace rm::ref
