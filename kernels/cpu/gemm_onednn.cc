#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/sequential_onednn.h"

namespace rm::cpu {
namespace {

using dnnl::memory;

// The library's blocking, and so a row's bits, depend on the number of rows: every product is made
// of calls of exactly this many, the last one padded.
constexpr std::int64_t kRows = 128;

memory::data_type type_of(DType dtype) {
    return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

struct Primitive {
    dnnl::matmul::primitive_desc description;
    dnnl::matmul primitive;
};

memory::desc any_form(std::int64_t K, std::int64_t N, DType compute) {
    return {{K, N}, type_of(compute), memory::format_tag::any};
}

// `b` is the form of B (K, N), or any_form for the library's choice.
Primitive make_matmul(const memory::desc& b, memory::data_type y_type, Into into,
                      const dnnl::engine& engine) {
    const SequentialOneDnn sequential;
    const memory::dim K = b.dims()[0], N = b.dims()[1];
    const memory::desc x({kRows, K}, b.data_type(), memory::format_tag::ab);
    const memory::desc y({kRows, N}, y_type, memory::format_tag::ab);
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

std::int64_t num_bytes(const memory::desc& description) {
    return static_cast<std::int64_t>(description.get_size());
}

class OneDnnPacked final : public PackedMatrix {
public:
    OneDnnPacked(std::int64_t K, std::int64_t N, DType compute, const dnnl::engine& engine,
                 Device& device)
        : PackedMatrix(K, N),
          engine_(engine),
          compute_(compute),
          overwrite_(
              make_matmul(any_form(K, N, compute), type_of(compute), Into::overwrite, engine)),
          // One packed copy serves all.
          add_(make_matmul(form(), type_of(compute), Into::add, engine)),
          overwrite_f32_(make_matmul(form(), memory::data_type::f32, Into::overwrite, engine)),
          packed_(device.allocate({num_bytes(form())}, MemoryKind::weights)) {}

    std::int64_t num_pack_items() const override { return 1; }
    void pack(const simd::MatrixView& b, std::int64_t) override {
        const SequentialOneDnn sequential;
        dnnl::stream stream(engine_);
        const auto type =
            b.type == simd::Type::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
        const memory::desc plain({K(), N()}, type, memory::dims{b.k_stride, b.n_stride});
        memory from(plain, engine_, const_cast<void*>(b.data));
        memory to(form(), engine_, packed_.data());
        dnnl::reorder(from, to).execute(stream, from, to);
    }
    ProductCut cut(std::int64_t, int) const override { return {kRows, N()}; }

    void multiply(const simd::ProductRows& op) const override {
        const Primitive& matmul = primitive_of(op);
        if (op.rows == kRows) return run(matmul, op.x, op.y, op.scratch);
        // Padded copies lie behind the library's scratch.
        auto* x = reinterpret_cast<char*>(op.scratch) + scratchpad_bytes();
        auto* y = x + kRows * K() * size_of(compute_);
        const auto size_x = usize(op.rows * K() * size_of(compute_));
        const auto size_y = usize(op.rows * num_bytes_of_row(op));
        std::memset(x, 0, usize(kRows * K() * size_of(compute_)));
        std::memset(y, 0, usize(kRows * num_bytes_of_row(op)));
        std::memcpy(x, op.x, size_x);
        if (op.add) std::memcpy(y, op.y, size_y);
        run(matmul, x, y, op.scratch);
        std::memcpy(op.y, y, size_y);
    }
    std::int64_t scratch_floats() const override {
        return (scratchpad_bytes() + kRows * (K() + N()) * 4) / 4;
    }

private:
    memory::desc form() const { return overwrite_.description.weights_desc(); }
    const Primitive& primitive_of(const simd::ProductRows& op) const {
        if (op.add) return add_;
        const bool widens = op.y_type == simd::Type::f32 && compute_ != DType::f32;
        return widens ? overwrite_f32_ : overwrite_;
    }
    std::int64_t num_bytes_of_row(const simd::ProductRows& op) const {
        return N() * size_of(op.y_type == simd::Type::f32 ? DType::f32 : DType::bf16);
    }
    std::int64_t scratchpad_bytes() const {
        std::int64_t bytes = 0;
        for (const Primitive* matmul : {&overwrite_, &add_, &overwrite_f32_})
            bytes = std::max(bytes, num_bytes(matmul->description.scratchpad_desc()));
        return (bytes + 63) / 64 * 64;
    }
    void run(const Primitive& matmul, const void* x, void* y, float* scratch) const {
        const SequentialOneDnn sequential;
        const auto& description = matmul.description;
        dnnl::stream stream(engine_);
        matmul.primitive.execute(
            stream,
            {{DNNL_ARG_SRC, memory(description.src_desc(), engine_, const_cast<void*>(x))},
             {DNNL_ARG_WEIGHTS, memory(description.weights_desc(), engine_, packed_.data())},
             {DNNL_ARG_DST, memory(description.dst_desc(), engine_, y)},
             {DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), engine_, scratch)}});
    }

    dnnl::engine engine_;
    DType compute_;
    Primitive overwrite_, add_, overwrite_f32_;
    Buffer packed_;
};

class OneDnnGemm final : public Gemm {
public:
    explicit OneDnnGemm(DType compute) : compute_(compute) {}
    Bytes packed_bytes(std::int64_t K, std::int64_t N) const override {
        const Primitive primitive =
            make_matmul(any_form(K, N, compute_), type_of(compute_), Into::overwrite, engine_);
        return {num_bytes(primitive.description.weights_desc())};
    }
    std::unique_ptr<PackedMatrix> make(std::int64_t K, std::int64_t N, Device& device) override {
        return std::make_unique<OneDnnPacked>(K, N, compute_, engine_, device);
    }

private:
    DType compute_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

std::unique_ptr<Gemm> make_onednn_gemm(DType compute) {
    return std::make_unique<OneDnnGemm>(compute);
}

}  // namespace rm::cpu
