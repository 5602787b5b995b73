#include "bench/bench.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>

#include "kernels/bf16.h"

namespace rm::bench {
namespace {

std::vector<float> small_numbers(Bench::Shape shape) {
    const std::int64_t count = TensorView(nullptr, DType::f32, shape).num_elements();
    std::vector<float> numbers(usize(count));
    for (std::int64_t i = 0; i < count; ++i)
        numbers[usize(i)] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
    return numbers;
}

double seconds_of(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

Flag dtype_flag(Options& options) {
    return {"--dtype", one_of(options.compute, {{"f32", DType::f32}, {"bf16", DType::bf16}})};
}
Flag clock_flag(Options& options) {
    return {"--clock", one_of(options.clock, {{"wall", Clock::wall}, {"cpu", Clock::cpu}})};
}

double now(const Options& options) {
    if (options.clock == Clock::wall) return seconds_of(CLOCK_MONOTONIC);
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID) / options.num_threads;
}
double thread_seconds() {
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

TensorView Bench::upload(DType dtype, Shape shape, const void* numbers) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, dtype, shape);
    kernels_.device().write(numbers, tensor);
    return tensor;
}

TensorView Bench::zeros(DType dtype, Shape shape) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, dtype, shape);
    kernels_.device().zero(tensor);
    return tensor;
}

TensorView Bench::tensor(Shape shape) {
    return upload(DType::f32, shape, small_numbers(shape).data());
}

TensorView Bench::positive(Shape shape) {
    std::vector<float> numbers = small_numbers(shape);
    for (float& number : numbers)
        number = std::abs(number);
    return upload(DType::f32, shape, numbers.data());
}

TensorView Bench::compute(Shape shape) {
    if (options_.compute == DType::f32) return tensor(shape);
    const std::vector<float> wide = small_numbers(shape);
    std::vector<Bf16> numbers(wide.size());
    std::transform(wide.begin(), wide.end(), numbers.begin(), to_bf16);
    return upload(options_.compute, shape, numbers.data());
}

TensorView Bench::tokens(std::int64_t count, std::int64_t below) {
    std::vector<std::int32_t> numbers(usize(count));
    for (std::int64_t i = 0; i < count; ++i)
        numbers[usize(i)] = static_cast<std::int32_t>(i * 7919 % below);
    return upload(DType::i32, {count}, numbers.data());
}

TensorView Bench::scalars(const std::vector<double>& values) {
    return upload(DType::f64, {static_cast<std::int64_t>(values.size())}, std::data(values));
}

const PreparedWeight& Bench::weight(std::int64_t num_rows, std::int64_t num_columns,
                                    WeightForm form) {
    const TensorView plain = tensor({num_rows, num_columns});
    PreparedWeight& prepared =
        *weights_.emplace_back(kernels_.make_prepared(num_rows, num_columns, form));
    kernels_.prepare(plain, prepared, *stream_);
    stream_->synchronize();
    return prepared;
}

double Bench::seconds_of_turn(const std::function<void(Stream&)>& queue, int times) {
    // OpenMP's threads spin for a while after their work: lets them stop before ours begins.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const double start = now(options_);
    for (int i = 0; i < times; ++i)
        queue(*stream_);
    stream_->synchronize();
    return (now(options_) - start) / times;
}

// Small products follow each other as in a step; waking a thread is no part of them. Nor is
// launching of what a GPU does: there a turn lasts a while.
int Bench::times_per_turn(const Work& work, const std::function<void(Stream&)>& queue) {
    constexpr double kTurnSeconds = 0.02;
    if (!options_.on_gpu)
        return work.flops > 0 ? static_cast<int>(std::clamp(4e9 / work.flops, 1.0, 64.0)) : 1;
    seconds_of_turn(queue, 1);  // makes plans, loads code
    return static_cast<int>(std::clamp(kTurnSeconds / seconds_of_turn(queue, 1), 1.0, 500.0));
}

// A peer on a GPU repeats the work `times` times by itself.
Contender Bench::torch_contender(const std::string& work, int times) const {
    TorchPeer& torch = *options_.torch;
    const Status ready = torch.prepare(work);
    RM_CHECK(ready.ok(), "{}", ready.ok() ? "" : ready.error().message);
    const std::string how = options_.on_gpu                ? format("run {}", times)
                            : options_.clock == Clock::cpu ? "run cpu"
                                                           : "run";
    return {"torch", [&torch, how] { return torch.run(how).value(); },
            [&torch] { return torch.peak_memory(); }};
}

void Bench::measure(const Work& work, const std::function<void(Stream&)>& queue) {
    std::vector<Contender> contenders = work.contenders;
    const int times = times_per_turn(work, queue);
    if (options_.torch != nullptr && !work.torch.empty())
        contenders.push_back(torch_contender(work.torch, times));
    std::vector<double> ours;
    std::vector<std::vector<double>> theirs(contenders.size()), ratios(contenders.size());
    for (int turn = 0; turn <= options_.repeats; ++turn) {
        const double seconds = seconds_of_turn(queue, times);
        if (turn > 0) ours.push_back(seconds);
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            double other = 0;
            const int runs = options_.on_gpu ? 1 : times;
            for (int j = 0; j < runs; ++j)
                other += contenders[i].run_once() / runs;
            if (turn == 0) continue;
            theirs[i].push_back(other);
            ratios[i].push_back(other / seconds);
        }
    }
    Row row{.name = work.name,
            .flops = work.flops,
            .seconds = median(ours),
            .bytes = work.bytes,
            .tokens = work.tokens,
            .memory = peak_memory("self")};
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        row.comparisons.push_back(
            {contenders[i].name, median(theirs[i]), median(ratios[i]), contenders[i].memory()});
    }
    options_.on_row(row);
}

}  // namespace rm::bench
