#include "kernels/meta/meta_kernels.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/meta/device_profile.h"
#include "kernels/meta/meta_device.h"
#include "kernels/meta/op_work.h"
#include "kernels/prepared_weight.h"

namespace rm {
namespace {

class MetaPrepared final : public PreparedWeight {
public:
    MetaPrepared(std::int64_t num_rows, std::int64_t num_columns, WeightForm form, Buffer memory)
        : num_rows_(num_rows), num_columns_(num_columns), form_(form), memory_(std::move(memory)) {}
    WeightForm form() const override { return form_; }
    std::int64_t num_rows() const override { return num_rows_; }
    std::int64_t num_columns() const override { return num_columns_; }
    MemoryRange range() const { return {memory_.data(), memory_.size()}; }

private:
    std::int64_t num_rows_ = 0, num_columns_ = 0;
    WeightForm form_;
    Buffer memory_;
};

#define RM_OP(Op) Op::kName,
constexpr std::string_view kOpNames[] = {RM_EACH_OP(RM_OP)};
#undef RM_OP
constexpr std::size_t kNumOps = std::size(kOpNames);

// The op's place among all.
template <typename Op>
constexpr std::size_t index_of() {
    constexpr std::size_t index = static_cast<std::size_t>(
        std::find(std::begin(kOpNames), std::end(kOpNames), Op::kName) - std::begin(kOpNames));
    static_assert(index < kNumOps);
    return index;
}

const MetaPrepared& own(const PreparedWeight* weight) {
    return own_weight<MetaPrepared>("meta", weight);
}

class MetaKernels final : public AllKernels<MetaKernels> {
public:
    MetaKernels(ScheduleRecorder& recorder, const MetaOptions& options)
        : options_(options),
          device_(recorder, options.profile,
                  options.like != nullptr && options.like->device().host_visible()),
          prepare_(options.profile, "prepare") {
#define RM_OP(Op)                                                 \
    times_[index_of<Op>()] = OpTimes(options.profile, Op::kName); \
    block_times_[index_of<Op>()] = OpTimes(options.profile, block_name_of<Op>());
        RM_EACH_OP(RM_OP)
#undef RM_OP
    }

    std::string_view name() const override {
        return "meta";
    }
    NumericTypes types() const override {
        return options_.types;
    }
    Device& device() override {
        return device_;
    }

    Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns,
                         WeightForm form) const override {
        if (options_.like != nullptr)
            return options_.like->prepared_bytes(num_rows, num_columns, form);
        const std::int64_t size = num_rows * num_columns;
        const int copies = options_.profile != nullptr ? options_.profile->prepared_copies : 2;
        const Bytes dense{copies * size * size_of(options_.types.compute)};
        if (form == WeightForm::compute) return dense;
        // A device that multiplies codes has them in both orientations; one that packs numbers has
        // those that are packed beside them.
        if (copies == 1) return Bytes{2 * size} + scale_bytes(num_rows, num_columns, form);
        return dense + Bytes{size * size_of(options_.types.compute)};
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows, std::int64_t num_columns,
                                                  WeightForm form) override {
        const Bytes size = prepared_bytes(num_rows, num_columns, form);
        return std::make_unique<MetaPrepared>(num_rows, num_columns, form,
                                              device_.allocate(size, MemoryKind::weights));
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        check_prepare(weight, prepared, options_.types);
        record_prepare(OpAccesses().read(range_of(weight)).write(own(&prepared).range()), stream);
    }
    void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream& stream) override {
        check_prepare(weight, prepared, options_.types);
        record_prepare(OpAccesses()
                           .read(range_of(weight.codes))
                           .read(range_of(weight.scale))
                           .write(own(&prepared).range()),
                       stream);
    }

    template <typename Op>
    void queue(const Op& op, Workspace workspace, Stream& stream) {
        OpAccesses accesses = accesses_of(op, options_.types);
        if constexpr (takes_prepared<Op>) accesses.read(own(*prepared_of(op)).range());
        const double flops = flops_of(op);
        const Seconds seconds = times_of(op).of(work_of(op, flops, accesses));
        if constexpr (takes_workspace<Op>)
            accesses.write(MemoryRange{workspace.data, workspace.size});
        record(Op::kName, class_of<Op>(), accesses, {seconds, flops}, stream);
    }
    template <typename Op>
    Bytes scratch_of(Op op) const {
        if (options_.like == nullptr) return times_of(op).workspace();
        if constexpr (takes_prepared<Op>) *prepared_of(op) = &twin_of(*prepared_of(op));
        return options_.like->workspace_bytes(op);
    }

private:
    // Scales of blocks, beside the codes of either orientation.
    static Bytes scale_bytes(std::int64_t num_rows, std::int64_t num_columns, WeightForm form) {
        if (form != WeightForm::fp8_blocks) return {};
        return {2 * fp8_blocks(num_rows) * fp8_blocks(num_columns) * size_of(DType::f32)};
    }
    template <typename Op>
    const OpTimes& times_of(const Op& op) const {
        return (is_timed_in_blocks(op) ? block_times_ : times_)[index_of<Op>()];
    }
    void record_prepare(const OpAccesses& accesses, Stream& stream) const {
        const Seconds seconds = prepare_.of(work_of_bytes(accesses.bytes()));
        record("prepare", OpClass::prepare, accesses, {seconds, 0}, stream);
    }
    static void record(std::string_view name, OpClass op_class, const OpAccesses& accesses,
                       ScheduleRecorder::Cost cost, Stream& stream) {
        meta_stream(stream).add({.op = name,
                                 .reads = accesses.reads(),
                                 .writes = accesses.writes(),
                                 .traffic = {},
                                 .op_class = op_class},
                                cost);
    }

    // A prepared weight of `like` of the same shape.
    const PreparedWeight& twin_of(const PreparedWeight* weight) const {
        const std::int64_t N = own(weight).num_rows(), K = own(weight).num_columns();
        auto& twin = twins_[{N, K, own(weight).form()}];
        if (twin == nullptr) twin = options_.like->make_prepared(N, K, own(weight).form());
        return *twin;
    }

    const MetaOptions options_;
    MetaDevice device_;
    const OpTimes prepare_;
    std::array<OpTimes, kNumOps> times_, block_times_;
    using Twin = std::tuple<std::int64_t, std::int64_t, WeightForm>;
    mutable std::map<Twin, std::unique_ptr<PreparedWeight>> twins_;
};

}  // namespace

std::unique_ptr<Kernels> make_meta_kernels(ScheduleRecorder& recorder, const MetaOptions& options) {
    return std::make_unique<MetaKernels>(recorder, options);
}

}  // namespace rm
