#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "kernels/ref/ref_kernels.h"

namespace rm::test {

using Vector = std::vector<double>;

inline Vector random_vector(Rng& rng, std::int64_t size, double scale = 1) {
    Vector numbers(static_cast<std::size_t>(size));
    for (double& number : numbers)
        number = scale * rng.normal();
    return numbers;
}

inline TensorView view(Vector& numbers, std::initializer_list<std::int64_t> shape) {
    const TensorView tensor(numbers.data(), DType::f64, shape);
    RM_CHECK(tensor.num_elements() == static_cast<std::int64_t>(numbers.size()), "{} numbers as {}",
             numbers.size(), shape_string(tensor));
    return tensor;
}

// Runs the oracle on plain vectors; a host device's memory is ordinary memory.
class RefRunner {
public:
    Kernels& kernels() { return *kernels_; }
    Stream& stream() { return *stream_; }
    // Runs the ops that `queue` queues and waits for them.
    template <typename Queue>
    void run(const Queue& queue) {
        queue(*kernels_, *stream_);
        stream_->synchronize();
    }
    std::unique_ptr<PreparedWeight> prepare(Vector& weight, std::int64_t N, std::int64_t K) {
        auto prepared = kernels_->make_prepared(N, K, WeightForm::compute);
        run([&](Kernels& k, Stream& s) { k.prepare(view(weight, {N, K}), *prepared, s); });
        return prepared;
    }

private:
    std::unique_ptr<Kernels> kernels_ = make_ref_kernels();
    std::unique_ptr<Stream> stream_ = kernels_->device().make_stream("test");
};

inline double weighted_sum(const Vector& numbers, const Vector& weights) {
    double sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        sum += numbers[i] * weights[i];
    return sum;
}

}  // namespace rm::test
