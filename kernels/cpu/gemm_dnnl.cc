#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>

#include "kernels/cpu/gemm.h"

namespace rm::cpu {
namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

// While it lives, oneDNN called on this thread uses this thread alone. The library takes its number
// of threads from OpenMP's per-thread setting, when a primitive is made and when it runs; with
// another threading runtime there is nothing to set.
class SequentialDnnl {
public:
    SequentialDnnl() : previous_(get_max() ? get_max()() : 0) { set(1); }
    ~SequentialDnnl() { set(previous_); }
    SequentialDnnl(const SequentialDnnl&) = delete;
    SequentialDnnl& operator=(const SequentialDnnl&) = delete;

private:
    using Get = int (*)();
    using Set = void (*)(int);
    static Get get_max() {
        static const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
        return get;
    }
    static void set(int num_threads) {
        static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
        if (set && num_threads > 0) set(num_threads);
    }

    int previous_;
};

struct Primitive {
    dnnl::matmul::primitive_desc description;
    dnnl::matmul primitive;
};

memory::desc any_form(std::int64_t K, std::int64_t N) {
    return {{K, N}, kF32, memory::format_tag::any};
}

// `b` is the form of B (K, N), or any_form for the library's choice.
Primitive make_matmul(const memory::desc& b, Into into, const dnnl::engine& engine) {
    const SequentialDnnl sequential;
    const memory::dim K = b.dims()[0], N = b.dims()[1];
    const memory::desc x({kGemmRows, K}, kF32, memory::format_tag::ab);
    const memory::desc y({kGemmRows, N}, kF32, memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (into == Into::add) {
        dnnl::post_ops sum;
        sum.append_sum();
        attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc description({x, b, y}, attributes, engine);
    return {description, dnnl::matmul(description)};
}

class DnnlPacked final : public PackedMatrix {
public:
    DnnlPacked(std::int64_t K, std::int64_t N, const dnnl::engine& engine, Device& device)
        : PackedMatrix(K, N),
          engine_(engine),
          overwrite_(make_matmul(any_form(K, N), Into::overwrite, engine)),
          // One packed copy serves both.
          add_(make_matmul(overwrite_.description.weights_desc(), Into::add, engine)),
          packed_(device, MemoryKind::weights, DType::f32, {num_packed(overwrite_)}) {}

    static std::int64_t num_packed(const Primitive& primitive) {
        return static_cast<std::int64_t>(primitive.description.weights_desc().get_size() / 4 + 1);
    }

    std::int64_t num_pack_items() const override { return 1; }
    void pack(const MatrixView& b, std::int64_t) override {
        const SequentialDnnl sequential;
        dnnl::stream stream(engine_);
        const memory::desc plain({K(), N()}, kF32, memory::dims{b.k_stride, b.n_stride});
        memory from(plain, engine_, const_cast<float*>(b.data));
        memory to(overwrite_.description.weights_desc(), engine_, packed_->data());
        dnnl::reorder(from, to).execute(stream, from, to);
    }

    void multiply(const float* x, float* y, Into into, float* scratch) const override {
        const SequentialDnnl sequential;
        const Primitive& matmul = into == Into::add ? add_ : overwrite_;
        const auto& description = matmul.description;
        dnnl::stream stream(engine_);
        matmul.primitive.execute(
            stream,
            {{DNNL_ARG_SRC, memory(description.src_desc(), engine_, const_cast<float*>(x))},
             {DNNL_ARG_WEIGHTS, memory(description.weights_desc(), engine_, packed_->data())},
             {DNNL_ARG_DST, memory(description.dst_desc(), engine_, y)},
             {DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), engine_, scratch)}});
    }
    std::int64_t scratch_floats() const override {
        const auto size = std::max(overwrite_.description.scratchpad_desc().get_size(),
                                   add_.description.scratchpad_desc().get_size());
        return static_cast<std::int64_t>(size / 4 + 1);
    }

private:
    dnnl::engine engine_;
    Primitive overwrite_, add_;
    Tensor packed_;
};

class DnnlGemm final : public Gemm {
public:
    Bytes packed_bytes(std::int64_t K, std::int64_t N) const override {
        const Primitive primitive = make_matmul(any_form(K, N), Into::overwrite, engine_);
        return {DnnlPacked::num_packed(primitive) * size_of(DType::f32)};
    }
    std::unique_ptr<PackedMatrix> make(std::int64_t K, std::int64_t N, Device& device) override {
        return std::make_unique<DnnlPacked>(K, N, engine_, device);
    }

private:
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

std::unique_ptr<Gemm> make_dnnl_gemm() {
    return std::make_unique<DnnlGemm>();
}

}  // namespace rm::cpu
