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
template <>
double convert_number(double x) {
    return x;
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

namespace {

template <typename X, typename Y>
void add(const Add& op) {
    const X* x = op.x.as<X>();
    Y* y = op.y.as<Y>();
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
        const double sum = convert_number<Y, double>(y[i]) + convert_number<X, double>(x[i]);
        y[i] = convert_number<double, Y>(sum);
    }
}

}  // namespace

void run(const Add& op, const Dims&) {
    if (op.y.dtype() == DType::f64) return add<double, double>(op);
    if (op.x.dtype() == DType::f64) return add<double, Bf16>(op);
    add<Bf16, Bf16>(op);
}

}  // namespace rm::ref
