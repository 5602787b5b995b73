#include "kernels/bench/bench.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "kernels/bf16.h"

namespace rm::bench {
namespace {

using Shape = std::initializer_list<std::int64_t>;

}  // namespace

double now(const Options& options) {
    const bool wall = options.clock == Clock::wall;
    timespec time{};
    ::clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
    const double seconds =
        static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    return wall ? seconds : seconds / options.num_threads;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

TensorView Bench::tensor(std::initializer_list<std::int64_t> shape) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, DType::f32, shape);
    auto* numbers = tensor->as<float>();
    for (std::int64_t i = 0; i < tensor->num_elements(); ++i)
        numbers[i] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
    return tensor;
}

TensorView Bench::compute(std::initializer_list<std::int64_t> shape) {
    const TensorView wide = tensor(shape);
    if (options_.compute == DType::f32) return wide;
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, options_.compute, shape);
    std::transform(wide.as<float>(), wide.as<float>() + wide.num_elements(), tensor->as<Bf16>(),
                   to_bf16);
    return tensor;
}

TensorView Bench::tokens(std::int64_t count, std::int64_t below) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::data, DType::i32, Shape{count});
    for (std::int64_t i = 0; i < count; ++i)
        tensor->as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % below);
    return tensor;
}

TensorView Bench::scalars(std::int64_t count) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::data, DType::f64, Shape{count});
    std::fill_n(tensor->as<double>(), count, 0.0);
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

double Bench::seconds_of_turn(const std::function<void(Stream&)>& queue, int times) {
    // OpenMP's threads spin for a while after their work: they are not to disturb ours.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const double start = now(options_);
    for (int i = 0; i < times; ++i)
        queue(*stream_);
    stream_->synchronize();
    return (now(options_) - start) / times;
}

Row Bench::measure(const Work& work, const std::function<void(Stream&)>& queue) {
    std::vector<Contender> contenders = work.contenders;
    if (options_.torch != nullptr && !work.torch.empty()) {
        const Status ready = options_.torch->prepare(work.torch);
        RM_CHECK(ready.ok(), "{}", ready.ok() ? "" : ready.error().message);
        contenders.push_back({"torch",
                              [this] {
                                  return options_.torch
                                      ->run(options_.clock == Clock::cpu ? "run cpu" : "run")
                                      .value();
                              },
                              [this] { return options_.torch->peak_memory(); }});
    }
    // Small products follow each other as in a step; waking a thread is no part of them.
    const int times =
        work.flops > 0 ? static_cast<int>(std::clamp(4e9 / work.flops, 1.0, 64.0)) : 1;
    std::vector<double> ours;
    std::vector<std::vector<double>> theirs(contenders.size()), ratios(contenders.size());
    for (int turn = 0; turn <= options_.repeats; ++turn) {
        const double seconds = seconds_of_turn(queue, times);
        if (turn > 0) ours.push_back(seconds);
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            double other = 0;
            for (int j = 0; j < times; ++j)
                other += contenders[i].run_once() / times;
            if (turn == 0) continue;
            theirs[i].push_back(other);
            ratios[i].push_back(other / seconds);
        }
    }
    Row row{.name = work.name, .flops = work.flops, .seconds = median(ours), .bytes = work.bytes};
    row.tokens = work.tokens;
    row.memory = peak_memory("self");
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        row.comparisons.push_back(
            {contenders[i].name, median(theirs[i]), median(ratios[i]), contenders[i].memory()});
    }
    if (options_.on_row) options_.on_row(row);
    return row;
}

}  // namespace rm::bench
