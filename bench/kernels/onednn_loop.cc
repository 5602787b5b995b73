#include <oneapi/dnnl/dnnl.hpp>

#include <memory>

#include "bench/bench.h"
#include "kernels/bf16.h"
#include "kernels/cpu/sequential_onednn.h"
#include "kernels/thread_pool.h"

namespace rm::bench {
namespace {

using cpu::SequentialOneDnn;
using dnnl::memory;

struct Shape {
    memory::dims x, b, y;
    memory::dims x_strides, b_strides;  // of what is not packed
    bool packs_b = true;
    memory::data_type y_type = memory::data_type::f32;
};

memory::data_type type_of(DType dtype) {
    return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// One thread's share. Its operands hold small numbers that differ.
class Share {
public:
    Share(const Shape& shape, memory::data_type type, const dnnl::engine& engine)
        : stream_(engine) {
        const SequentialOneDnn sequential;
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        if (!shape.packs_b) {  // a weight gradient is summed into
            dnnl::post_ops sum;
            sum.append_sum();
            attributes.set_post_ops(sum);
        }
        const memory::desc x(shape.x, type, shape.x_strides);
        const auto b = shape.packs_b ? memory::desc(shape.b, type, memory::format_tag::any)
                                     : memory::desc(shape.b, type, shape.b_strides);
        const memory::desc y(shape.y, shape.y_type, memory::format_tag::ab);
        const dnnl::matmul::primitive_desc description({x, b, y}, attributes, engine);
        matmul_ = dnnl::matmul(description);
        const memory packed(description.weights_desc(), engine);
        arguments_ = {{DNNL_ARG_SRC, filled(memory(x, engine))},
                      {DNNL_ARG_WEIGHTS, filled(packed)},
                      {DNNL_ARG_DST, filled(memory(y, engine))},
                      {DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), engine)}};
    }
    void run() {
        const SequentialOneDnn sequential;
        matmul_.execute(stream_, arguments_);
    }

private:
    static memory filled(memory of) {
        const memory::desc description = of.get_desc();
        const bool narrow = description.data_type() == memory::data_type::bf16;
        const std::size_t count = description.get_size() / (narrow ? 2 : 4);
        for (std::size_t i = 0; i < count; ++i) {
            const float value = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
            if (narrow) {
                static_cast<Bf16*>(of.get_data_handle())[i] = to_bf16(value);
            } else {
                static_cast<float*>(of.get_data_handle())[i] = value;
            }
        }
        return of;
    }

    dnnl::stream stream_;
    dnnl::matmul matmul_;
    std::unordered_map<int, memory> arguments_;
};

// The threads and their shares.
class Loop {
public:
    Loop(const Shape& shape, const Options& options)
        : options_(options), pool_(options.num_threads) {
        for (int i = 0; i < options.num_threads; ++i)
            shares_.push_back(std::make_unique<Share>(shape, type_of(options.compute), engine_));
    }
    double run() {
        const double start = now(options_);
        pool_.parallel_for(static_cast<std::int64_t>(shares_.size()),
                           [&](std::int64_t i) { shares_[usize(i)]->run(); });
        return now(options_) - start;
    }

private:
    Options options_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    ThreadPool pool_;
    std::vector<std::unique_ptr<Share>> shares_;
};

std::vector<Contender> contender(const Shape& shape, const Options& options) {
    try {
        const auto loop = std::make_shared<Loop>(shape, options);
        return {{"onednn", [loop] { return loop->run(); }}};
    } catch (const dnnl::error&) {
        return {};  // bf16 on a CPU where the library has no such product
    }
}

}  // namespace

std::vector<Contender> onednn_product(std::int64_t T, std::int64_t N, std::int64_t K,
                                      const Options& options) {
    const std::int64_t rows = T / options.num_threads;
    return contender({.x = {rows, K},
                      .b = {K, N},
                      .y = {rows, N},
                      .x_strides = {K, 1},
                      .y_type = type_of(options.compute)},
                     options);
}

std::vector<Contender> onednn_weight_gradient(std::int64_t T, std::int64_t N, std::int64_t K,
                                              const Options& options) {
    const std::int64_t rows = N / options.num_threads;
    return contender({.x = {rows, T},
                      .b = {T, K},
                      .y = {rows, K},
                      .x_strides = {1, N},
                      .b_strides = {K, 1},
                      .packs_b = false},
                     options);
}

}  // namespace rm::bench
