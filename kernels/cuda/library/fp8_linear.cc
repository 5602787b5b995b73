#include "kernels/cuda/library/cuda_device.h"
#include "kernels/cuda/matmul/matmul_cublaslt.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/quantize.h"
#include "kernels/device_library.h"

namespace rm {
namespace {

// A tensor's codes with what they were scaled by.
struct Rounded {
    Rounded(Device& device, std::int64_t rows, std::int64_t columns)
        : rows(rows),
          columns(columns),
          codes(device.allocate({rows * columns}, MemoryKind::workspace)),
          amax(device, MemoryKind::workspace, DType::f32, {1}),
          scales(device, MemoryKind::workspace, DType::f32, {kInverse + 1}) {}

    // Takes the first x.dim(0) rows.
    void take(const TensorView& x, const Launch& where) const {
        cuda::run(FillZero{amax}, where);
        cuda::run(Fp8Amax{.x = x, .amax = amax}, where);
        const TensorView scale = scales.view().rows(kInverse - 1, 2);
        cuda::run(Fp8Scale{.amax = amax, .scale = scale}, where);
        const Fp8Codes to{static_cast<std::uint8_t*>(codes.data()), x.dim(0), columns};
        cuda::run(Fp8Cast{.x = x, .scale = scale, .to = {.codes = to, .amax = amax}}, where);
    }
    const float* inverse() const { return scales->as<float>() + kInverse; }

    // cuBLASLt refuses scales at addresses that are no multiple of 16 bytes.
    static constexpr std::int64_t kInverse = 4;

    std::int64_t rows, columns;
    Buffer codes;
    Tensor amax;    // (1) f32
    Tensor scales;  // f32: the scale before kInverse, its inverse there
};

class CudaFp8Linear final : public Fp8Linear {
public:
    CudaFp8Linear(Device& device, std::unique_ptr<cuda::MatMul> matmul, const Fp8LinearSize& size)
        : profile_(cuda_profile(0)),
          matmul_(std::move(matmul)),
          x_(device, size.T, size.K),
          weight_(device, size.N, size.K),
          workspace_(device.allocate(matmul_->workspace_bytes({}), MemoryKind::workspace)) {}

    void prepare(const TensorView& weight, Stream& stream) override {
        weight_.take(weight, {.stream = stream, .profile = profile_});
    }
    void forward(const TensorView& x, const TensorView& y, Stream& stream) override {
        const Launch where{.stream = stream, .profile = profile_, .reproducible = false};
        x_.take(x, where);
        run_fp8_product(*matmul_,
                        {.a = x_.codes.data(),
                         .b = weight_.codes.data(),
                         .scale_a = x_.inverse(),
                         .scale_b = weight_.inverse(),
                         .depth = x_.columns,
                         .out = y},
                        {workspace_.data(), workspace_.size()}, where);
    }

private:
    GpuProfile profile_;
    std::unique_ptr<cuda::MatMul> matmul_;
    Rounded x_;
    Rounded weight_;
    Buffer workspace_;
};

}  // namespace

Result<std::unique_ptr<Fp8Linear>> make_cuda_fp8_linear(Device& device, const Fp8LinearSize& size) {
    RM_TRY(std::unique_ptr<cuda::MatMul> matmul, make_cublaslt_matmul(0, ""));
    return std::unique_ptr<Fp8Linear>(
        std::make_unique<CudaFp8Linear>(device, std::move(matmul), size));
}

}  // namespace rm
