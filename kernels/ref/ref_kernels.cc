#include "kernels/ref/ref_kernels.h"

#include "kernels/ref/ref_ops.h"

namespace rm {
namespace {

class RefKernels final : public AllKernels<RefKernels> {
public:
    std::string_view name() const override { return "ref"; }
    NumericTypes types() const override { return {DType::f64, DType::f64, DType::f64}; }
    Device& device() override { return *device_; }

    Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns,
                         WeightForm /*form*/) const override {
        return {num_rows * num_columns * size_of(DType::f64)};
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows, std::int64_t num_columns,
                                                  WeightForm form) override {
        return std::make_unique<ref::RefPreparedWeight>(*device_, num_rows, num_columns, form);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        const TensorView to = ref::weight_of(&prepared);
        stream.enqueue("prepare", [from = weight, to, form = prepared.form()] {
            ref::run(Copy{.from = from, .to = to},
                     Dims("prepare").bind<"N K">(to, "prepared").bind<"N K">(from, "weight"));
            if (form == WeightForm::fp8) ref::round_to_fp8(to);
            if (form == WeightForm::fp8_blocks) ref::round_blocks_to_fp8(to);
        });
    }

    void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream& stream) override {
        check_prepare(weight, prepared, types());
        stream.enqueue("prepare",
                       [weight, to = ref::weight_of(&prepared)] { ref::widen(weight, to); });
    }

    template <typename Op>
    Bytes scratch_of(const Op& /*op*/) const {
        return {};
    }
    // Shapes are checked when the op runs, so a wrong one is the stream's error.
    template <typename Op>
    void queue(const Op& op, Workspace /*workspace*/, Stream& stream) {
        stream.enqueue(Op::kName,
                       [op, types = types()] { ref::run(op, check_operands(op, types)); });
    }

private:
    std::unique_ptr<Device> device_ = make_host_device();
};

}  // namespace

std::unique_ptr<Kernels> make_ref_kernels() {
    return std::make_unique<RefKernels>();
}

}  // namespace rm
