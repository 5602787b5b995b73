#include "kernels/cuda/matmul/matmul_cublaslt.h"

#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <compare>
#include <map>
#include <mutex>

#include "kernels/cuda/library/cuda_device.h"
#include "kernels/cuda/matmul/tuning_file.h"

namespace rm {
namespace {

using cuda::Fp8Product;
using cuda::MatrixProduct;
using cuda::Stored;

// The library advises this on Hopper; more has not helped on others.
constexpr Bytes kWorkspace{std::int64_t{32} << 20};
// The library refuses a workspace at an address that is no multiple of this.
constexpr std::int64_t kWorkspaceAlignment = 256;
// An algorithm is chosen for this many tokens and used for every number of them: each token's sums
// then have one order, however many others are in the product.
constexpr std::int64_t kChosenForTokens = 8192;

void check_lt(std::string_view what, cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw StreamError(format("{}: {}", what, cublasLtGetStatusName(status)));
}

// cuBLASLt's matrices are column-major: it multiplies our b^T a^T, so that its first operand is b
// and its m counts our columns.
struct Shape {
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t first_stride = 0, second_stride = 0;
    cublasOperation_t first_op = CUBLAS_OP_N, second_op = CUBLAS_OP_N;
    cudaDataType_t first_type = CUDA_R_16BF, second_type = CUDA_R_16BF, out_type = CUDA_R_16BF;
    Into into = Into::overwrite;
    std::uint32_t alignment = 256;  // bytes, of every row of every operand
    bool reproducible = true;
    bool columns_are_tokens = false;  // n counts them
    auto operator<=>(const Shape&) const = default;
};

std::string_view letter(cublasOperation_t op) {
    return op == CUBLAS_OP_N ? "n" : "t";
}
std::string_view type_name(cudaDataType_t type) {
    if (type == CUDA_R_16BF) return "bf16";
    if (type == CUDA_R_32F) return "f32";
    return type == CUDA_R_8F_E4M3 ? "e4m3" : "e5m2";
}

// The key in a tuning file.
std::string to_string(const Shape& s) {
    return format("{} {} {}{} m {} n {} k {} strides {} {} to {}{} aligned {}{}",
                  type_name(s.first_type), type_name(s.second_type), letter(s.first_op),
                  letter(s.second_op), s.m, s.n, s.k, s.first_stride, s.second_stride,
                  type_name(s.out_type), s.into == Into::add ? " added" : "", s.alignment,
                  s.reproducible ? " reproducible" : "");
}

struct Operands {
    const void* first = nullptr;
    const void* second = nullptr;
    void* out = nullptr;
    const float* first_scale = nullptr;  // FP8 only
    const float* second_scale = nullptr;
};

std::int64_t size_of(cudaDataType_t type) {
    if (type == CUDA_R_32F) return 4;
    return type == CUDA_R_16BF ? 2 : 1;
}

// Rows count, too, so that a product of some of a tensor's rows has the alignment of all of them.
std::uint32_t alignment_of(const Shape& s, const Operands& o) {
    const auto rows = static_cast<std::uintptr_t>(s.first_stride * size_of(s.first_type) |
                                                  s.second_stride * size_of(s.second_type) |
                                                  s.m * size_of(s.out_type));
    const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(o.first) |
                                reinterpret_cast<std::uintptr_t>(o.second) |
                                reinterpret_cast<std::uintptr_t>(o.out) | rows | 256;
    return 1u << std::countr_zero(bits);
}

// The shape that an algorithm is chosen for.
Shape family_of(Shape shape) {
    if (shape.reproducible && shape.columns_are_tokens) shape.n = kChosenForTokens;
    return shape;
}

void* aligned(void* workspace) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    const auto mask = static_cast<std::uintptr_t>(kWorkspaceAlignment - 1);
    return reinterpret_cast<void*>((address + mask) & ~mask);
}

// A library object that is destroyed with its owner.
template <typename T, cublasStatus_t (*destroy)(T)>
class Owned {
public:
    Owned() = default;
    Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Owned() {
        if (object_ != nullptr) destroy(object_);
    }
    T* out() { return &object_; }
    T get() const { return object_; }

private:
    T object_ = nullptr;
};
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;

Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                   std::int64_t stride) {
    Layout layout;
    check_lt("cublasLtMatrixLayoutCreate",
             cublasLtMatrixLayoutCreate(layout.out(), type, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), stride));
    return layout;
}

template <typename T>
void set(const Description& description, cublasLtMatmulDescAttributes_t which, const T& value) {
    check_lt("cublasLtMatmulDescSetAttribute",
             cublasLtMatmulDescSetAttribute(description.get(), which, &value, sizeof value));
}
template <typename T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t which, const T& value) {
    check_lt("cublasLtMatmulPreferenceSetAttribute",
             cublasLtMatmulPreferenceSetAttribute(preference.get(), which, &value, sizeof value));
}

// All of cublasLtMatmul's arguments that depend on a shape; made once.
struct Plan {
    explicit Plan(const Shape& s)
        : first(s.first_op == CUBLAS_OP_N ? make_layout(s.first_type, s.m, s.k, s.first_stride)
                                          : make_layout(s.first_type, s.k, s.m, s.first_stride)),
          second(s.second_op == CUBLAS_OP_N
                     ? make_layout(s.second_type, s.k, s.n, s.second_stride)
                     : make_layout(s.second_type, s.n, s.k, s.second_stride)),
          out(make_layout(s.out_type, s.m, s.n, s.m)) {
        check_lt("cublasLtMatmulDescCreate",
                 cublasLtMatmulDescCreate(description.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F));
        set(description, CUBLASLT_MATMUL_DESC_TRANSA, s.first_op);
        set(description, CUBLASLT_MATMUL_DESC_TRANSB, s.second_op);
    }
    // FP8's. The library chooses other algorithms for a product that has none.
    void take_scales(const Operands& o) const {
        if (o.first_scale == nullptr) return;
        set(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, o.first_scale);
        set(description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, o.second_scale);
    }
    Layout first, second, out;
    Description description;
    cublasLtMatmulAlgo_t algorithm{};
};

class CublasLtMatMul final : public cuda::MatMul {
public:
    CublasLtMatMul(Handle handle, const std::string& tuning_file, const std::string& machine)
        : handle_(std::move(handle)), tuning_(tuning_file, machine) {}

    Bytes workspace_bytes(const MatrixProduct&) const override { return kAsked; }

    void run(const MatrixProduct& p, Workspace workspace, const Launch& where) override {
        cuda::check_product(p);
        const auto type = p.out.dtype() == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
        queue({.m = p.columns(),
               .n = p.rows(),
               .k = p.depth(),
               .first_stride = p.b.dim(1),
               .second_stride = p.stride_of_a(),
               .first_op = p.b_stored == Stored::plain ? CUBLAS_OP_N : CUBLAS_OP_T,
               .second_op = p.a_stored == Stored::plain ? CUBLAS_OP_N : CUBLAS_OP_T,
               .out_type = type,
               .into = p.into,
               .columns_are_tokens = p.a_stored == Stored::plain},
              {.first = p.b.data(), .second = p.a.data(), .out = p.out.data()}, workspace, where);
    }

    Bytes workspace_bytes(const Fp8Product&) const override { return kAsked; }

    void run(const Fp8Product& p, Workspace workspace, const Launch& where) override {
        RM_CHECK(where.profile.arch >= kFirstFp8Arch, "FP8 products need sm_{}; this is sm_{}",
                 kFirstFp8Arch, where.profile.arch);
        const auto fp8 = [](const Fp8Matrix& matrix) {
            return matrix.format == Fp8::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
        };
        // Into f32 go gradients of weights, whose tokens are the depth.
        const bool f32 = p.out.dtype() == DType::f32;
        queue({.m = p.columns(),
               .n = p.rows(),
               .k = p.depth(),
               .first_stride = p.depth(),
               .second_stride = p.depth(),
               .first_op = CUBLAS_OP_T,
               .first_type = fp8(p.b),
               .second_type = fp8(p.a),
               .out_type = f32 ? CUDA_R_32F : CUDA_R_16BF,
               .into = p.into,
               .columns_are_tokens = !f32},
              {.first = p.b.codes.data(),
               .second = p.a.codes.data(),
               .out = p.out.data(),
               .first_scale = p.b.scale.as<float>(),
               .second_scale = p.a.scale.as<float>()},
              workspace, where);
    }

private:
    static constexpr Bytes kAsked{kWorkspace.value + kWorkspaceAlignment};

    void queue(Shape shape, const Operands& operands, Workspace workspace, const Launch& where) {
        RM_CHECK(workspace.size >= kAsked, "matrix product: {} of workspace, {} are needed",
                 workspace.size, kAsked);
        if (shape.m == 0 || shape.n == 0) return;
        shape.alignment = alignment_of(shape, operands);
        shape.reproducible = where.reproducible;
        if (where.log != nullptr) where.log->choice(where.op, "cuBLASLt " + to_string(shape));
        where.stream.enqueue("matrix product", [this, shape, operands, workspace,
                                                stream = native_stream(where.stream)] {
            multiply(shape, operands, workspace, stream);
        });
    }

    void multiply(const Shape& shape, const Operands& o, Workspace workspace, cudaStream_t stream) {
        // Scales are in the description, so a plan is used by one thread at a time.
        const std::lock_guard lock(mutex_);
        const Plan& plan = plan_of(shape, o);
        plan.take_scales(o);
        const float alpha = 1, beta = shape.into == Into::add ? 1 : 0;
        check_lt("cublasLtMatmul",
                 cublasLtMatmul(handle_.get(), plan.description.get(), &alpha, o.first,
                                plan.first.get(), o.second, plan.second.get(), &beta, o.out,
                                plan.out.get(), o.out, plan.out.get(), &plan.algorithm,
                                aligned(workspace.data), usize(kWorkspace.value), stream));
    }

    const Plan& plan_of(const Shape& shape, const Operands& operands) {
        const auto found = plans_.find(shape);
        if (found != plans_.end()) return found->second;
        Plan plan(shape);
        plan.take_scales(operands);
        plan.algorithm = algorithm_of(family_of(shape), operands);
        if (!suits(plan)) plan.algorithm = algorithm_of(shape, operands);
        return plans_.emplace(shape, std::move(plan)).first->second;
    }

    bool suits(const Plan& plan) const {
        cublasLtMatmulHeuristicResult_t result{};
        const cublasStatus_t status = cublasLtMatmulAlgoCheck(
            handle_.get(), plan.description.get(), plan.first.get(), plan.second.get(),
            plan.out.get(), plan.out.get(), &plan.algorithm, &result);
        return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= usize(kWorkspace.value);
    }

    cublasLtMatmulAlgo_t algorithm_of(const Shape& shape, const Operands& operands) {
        const std::string name = to_string(shape);
        if (const auto tuned = tuning_.find(name))
            return std::bit_cast<cublasLtMatmulAlgo_t>(*tuned);
        const Plan plan(shape);
        plan.take_scales(operands);
        const cublasLtMatmulAlgo_t algorithm = first_choice(plan, shape);
        tuning_.add(name, std::bit_cast<TunedAlgorithm>(algorithm));
        return algorithm;
    }

    cublasLtMatmulAlgo_t first_choice(const Plan& plan, const Shape& shape) {
        Preference preference;
        check_lt("cublasLtMatmulPreferenceCreate",
                 cublasLtMatmulPreferenceCreate(preference.out()));
        set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            static_cast<std::uint64_t>(kWorkspace.value));
        for (const auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
            set(preference, which, shape.alignment);
        }
        // Parts of the depth summed in the workspace have one order.
        if (shape.reproducible) {
            set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
        }
        cublasLtMatmulHeuristicResult_t best{};
        int count = 0;
        check_lt("cublasLtMatmulAlgoGetHeuristic",
                 cublasLtMatmulAlgoGetHeuristic(
                     handle_.get(), plan.description.get(), plan.first.get(), plan.second.get(),
                     plan.out.get(), plan.out.get(), preference.get(), 1, &best, &count));
        RM_CHECK(count > 0, "cuBLASLt has no algorithm for {}", to_string(shape));
        return best.algo;
    }

    Handle handle_;
    std::mutex mutex_;
    TuningFile tuning_;
    std::map<Shape, Plan> plans_;
};

}  // namespace

Result<std::unique_ptr<cuda::MatMul>> make_cublaslt_matmul(int device,
                                                           const std::string& tuning_file) {
    check_cuda("cudaSetDevice", cudaSetDevice(device));
    Handle handle;
    const cublasStatus_t status = cublasLtCreate(handle.out());
    if (status != CUBLAS_STATUS_SUCCESS) {
        return make_error(ErrorCode::unavailable, "cuBLASLt does not start: {}",
                          cublasLtGetStatusName(status));
    }
    cudaDeviceProp properties{};
    check_cuda("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, device));
    const std::string machine = format("cuBLASLt {} on {}", cublasLtGetVersion(), properties.name);
    return std::unique_ptr<cuda::MatMul>(
        std::make_unique<CublasLtMatMul>(std::move(handle), tuning_file, machine));
}

}  // namespace rm
