#include "kernels/cpu/cpu_kernels.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "kernels/cpu/choose_code.h"
#include "kernels/cpu/ops.h"

namespace rm {
namespace {

cpu::CodeChoice choice_for(const CpuOptions& options) {
    RM_CHECK(options.compute == DType::f32 || options.compute == DType::bf16,
             "cpu computes in f32 or bf16, not in {}", to_string(options.compute));
    const cpu::CodeChoice choice = cpu::choose_code(options.code, options.compute);
    RM_CHECK(choice.loops != nullptr,
             "this CPU cannot run the code asked for; CpuCode::best always runs");
    return choice;
}

class CpuKernels final : public AllKernels<CpuKernels> {
public:
    explicit CpuKernels(const CpuOptions& options) : CpuKernels(options, choice_for(options)) {}

    std::string_view name() const override { return "cpu"; }
    NumericTypes types() const override { return {context_.compute, DType::f32, DType::f32}; }
    Device& device() override { return *device_; }

    Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns,
                         WeightForm form) const override {
        return cpu::prepared_bytes(num_rows, num_columns, form, context_);
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows, std::int64_t num_columns,
                                                  WeightForm form) override {
        return std::make_unique<cpu::CpuPreparedWeight>(num_rows, num_columns, form, context_,
                                                        *device_);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        const auto& own = cpu::weight_of(&prepared);
        check_prepare(weight, prepared, types());
        stream.enqueue("prepare", [this, weight, &own] { cpu::prepare(weight, own, context_); });
    }
    void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream& stream) override {
        const cpu::CpuPreparedWeight& own = cpu::weight_of(&prepared);
        check_prepare(weight, prepared, types());
        stream.enqueue("prepare", [this, weight, &own] { cpu::prepare(weight, own, context_); });
    }

    template <typename Op>
    Bytes scratch_of(const Op& op) const {
        return cpu::scratch_bytes(op, context_);
    }
    // An op is checked by the caller, at once, and runs on the stream.
    template <typename Op>
    void queue(const Op& op, Workspace workspace, Stream& stream) {
        check_operands(op, types());
        stream.enqueue(Op::kName, [this, op, workspace] { cpu::run(op, workspace, context_); });
    }

private:
    CpuKernels(const CpuOptions& options, const cpu::CodeChoice& choice)
        : device_(options.make_device()),
          context_{*choice.loops,
                   options.compute,
                   choice.products(options.compute),
                   choice.attention(options.compute),
                   choice.make_gemm(options.compute),
                   cpu::Workers(options.num_threads)} {}

    std::unique_ptr<Device> device_;
    cpu::Context context_;
};

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double product_rate(const CpuOptions& options) {
    // A run of a few milliseconds is rarely interrupted on a busy machine; a longer one always is.
    constexpr std::int64_t T = 512, N = 512, K = 512;
    constexpr double kBudgetSeconds = 1;
    const auto kernels = make_cpu_kernels(options);
    Device& device = kernels->device();
    const auto stream = device.make_stream("peak");
    const auto prepared = kernels->make_prepared(N, K, WeightForm::compute);
    const Tensor weight(device, MemoryKind::weights, DType::f32, {N, K});
    const Tensor x(device, MemoryKind::activations, options.compute, {T, K});
    const Tensor y(device, MemoryKind::activations, options.compute, {T, N});
    const LinearFwd op{.x = x, .weight = prepared.get(), .y = y};
    const Bytes bytes = kernels->workspace_bytes(op);
    const Buffer workspace = device.allocate(bytes, MemoryKind::workspace);
    kernels->run(FillZero{weight}, *stream);
    kernels->run(FillZero{x}, *stream);
    kernels->prepare(weight, *prepared, *stream);
    const auto once = [&] {
        kernels->run(op, {workspace.data(), bytes}, *stream);
        stream->synchronize();
    };
    once();  // warms caches, threads and the code generator up
    std::vector<double> seconds;
    for (double total = 0; total < kBudgetSeconds || seconds.size() < 5; total += seconds.back())
        seconds.push_back(seconds_of(once));
    // Takes the fastest run: the machine's own rate, whatever else it did meanwhile.
    return 2.0 * T * N * K / *std::min_element(seconds.begin(), seconds.end());
}

}  // namespace

bool can_run(CpuCode code) {
    if (code == CpuCode::onednn) return cpu::make_onednn_gemm(DType::f32) != nullptr;
    return cpu::choose_code(code, DType::f32).loops != nullptr;
}

std::unique_ptr<Kernels> make_cpu_kernels(const CpuOptions& options) {
    return std::make_unique<CpuKernels>(options);
}

std::string describe_cpu_code(const CpuOptions& options) {
    return choice_for(options).describe(options.compute);
}

double measure_cpu_peak_flops(const CpuOptions& options) {
    double fastest = product_rate(options);
    if (options.code == CpuCode::best && can_run(CpuCode::onednn)) {
        CpuOptions library = options;
        library.code = CpuCode::onednn;
        fastest = std::max(fastest, product_rate(library));
    }
    return fastest;
}

}  // namespace rm
