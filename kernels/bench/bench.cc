#include "kernels/bench/bench.h"

#include <algorithm>
#include <chrono>

namespace rm::bench {

TensorView Bench::tensor(std::initializer_list<std::int64_t> shape) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, DType::f32, shape);
    std::vector<float> numbers(static_cast<std::size_t>(tensor->num_elements()));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
    kernels_.device().upload(numbers.data(), tensor, *stream_);
    stream_->synchronize();
    return tensor;
}

const PreparedWeight& Bench::weight(std::int64_t num_rows, std::int64_t num_columns) {
    const TensorView plain = tensor({num_rows, num_columns});
    PreparedWeight& prepared =
        *weights_.emplace_back(kernels_.make_prepared(num_rows, num_columns));
    kernels_.prepare(plain, prepared, *stream_);
    stream_->synchronize();
    return prepared;
}

double Bench::now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double Bench::median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace rm::bench
