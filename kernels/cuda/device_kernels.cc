#include "kernels/cuda/device_kernels.h"

#include <optional>
#include <string>
#include <utility>

#include "kernels/cuda/ops.h"

namespace rm {
namespace {

class DeviceKernels final : public AllKernels<DeviceKernels> {
public:
    DeviceKernels(DeviceKernelsParts parts, const DeviceKernelsOptions& options)
        : parts_(std::move(parts)), options_(options) {
        if (options.explain != nullptr) log_.emplace(*options.explain);
    }

    std::string_view name() const override { return parts_.name; }
    NumericTypes types() const override { return {DType::bf16, DType::f32, DType::f32}; }
    Device& device() override { return *parts_.device; }
    bool computes_fp8() const override { return parts_.profile.arch >= kFirstFp8Arch; }

    Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns,
                         WeightForm form) const override {
        if (form != WeightForm::compute)
            return cuda::DeviceFp8Weight::bytes(num_rows, num_columns, form);
        return {num_rows * num_columns * size_of(DType::bf16)};
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows, std::int64_t num_columns,
                                                  WeightForm form) override {
        if (form != WeightForm::compute)
            return std::make_unique<cuda::DeviceFp8Weight>(device(), num_rows, num_columns, form);
        return std::make_unique<cuda::DevicePreparedWeight>(device(), num_rows, num_columns, form);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        const Launch where =
            launch_of("prepare", check_prepare(weight, prepared, types()), {}, stream);
        if (prepared.form() != WeightForm::compute)
            return cuda::prepare(weight, cuda::fp8_weight_of(&prepared), where);
        cuda::run(Copy{.from = weight, .to = cuda::weight_of(&prepared).view()}, where);
    }

    void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream& stream) override {
        const Launch where =
            launch_of("prepare", check_prepare(weight, prepared, types()), {}, stream);
        cuda::prepare(weight, cuda::fp8_weight_of(&prepared), where);
    }

    template <typename Op>
    Bytes scratch_of(const Op& op) const {
        return cuda::workspace_bytes(op, *parts_.matmul);
    }
    // An op is checked and chosen for by the caller, at once; its kernels run on the stream.
    template <typename Op>
    void queue(const Op& op, Workspace workspace, Stream& stream) {
        cuda::run(op, launch_of(Op::kName, check_operands(op, types()), workspace, stream));
    }

private:
    Launch launch_of(std::string_view op, const Dims& dims, Workspace workspace, Stream& stream) {
        return {.stream = stream,
                .profile = parts_.profile,
                .emulation = options_.emulation,
                .reproducible = options_.reproducible,
                .log = log_ ? &*log_ : nullptr,
                .op = log_ ? format("{} ({})", op, dims.text()) : std::string(),
                .matmul = parts_.matmul.get(),
                .workspace = workspace};
    }

    DeviceKernelsParts parts_;
    DeviceKernelsOptions options_;
    std::optional<LaunchLog> log_;
};

}  // namespace

std::unique_ptr<Kernels> make_device_kernels(DeviceKernelsParts parts,
                                             const DeviceKernelsOptions& options) {
    RM_CHECK(parts.device != nullptr && parts.matmul != nullptr, "{}: a part is missing",
             parts.name);
    return std::make_unique<DeviceKernels>(std::move(parts), options);
}

}  // namespace rm
