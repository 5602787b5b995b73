#include "tests/kernels/meta/watched_kernels.h"

#include <utility>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/meta_kernels.h"
#include "kernels/prepared_weight.h"
#include "tests/kernels/meta/watched_memory.h"

namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 11;

// A weight on both backends; `memory` holds the real backend's buffers, in place of meta's range.
class PairedWeight final : public PreparedWeight {
public:
    WeightForm form() const override { return real->form(); }
    std::int64_t num_rows() const override { return real->num_rows(); }
    std::int64_t num_columns() const override { return real->num_columns(); }
    std::unique_ptr<PreparedWeight> real, meta;
    std::vector<AddressRange> memory;
};

const PairedWeight& paired(const PreparedWeight* weight) {
    return dynamic_cast<const PairedWeight&>(*weight);
}

// Returns the op with the weight of one of the backends.
template <typename Op>
Op with_weight(Op op, std::unique_ptr<PreparedWeight> PairedWeight::*of) {
    if constexpr (takes_prepared<Op>) *prepared_of(op) = (paired(*prepared_of(op)).*of).get();
    return op;
}
template <typename Op>
const PairedWeight* weight_of(const Op& op) {
    if constexpr (takes_prepared<Op>) return &paired(*prepared_of(op));
    return nullptr;
}

class Watching final : public AllKernels<Watching> {
public:
    Watching(DType compute, DeclaredOps& declared)
        : declared_(declared),
          real_(make_cpu_kernels({.compute = compute, .make_device = WatchedDevice::make})),
          meta_(make_meta_kernels(recorder_, {.types = real_->types()})),
          meta_stream_(meta_->device().make_stream("meta")) {}

    std::string_view name() const override { return "watched"; }
    NumericTypes types() const override { return real_->types(); }
    Device& device() override { return real_->device(); }
    Bytes prepared_bytes(std::int64_t rows, std::int64_t columns, WeightForm form) const override {
        return real_->prepared_bytes(rows, columns, form);
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t rows, std::int64_t columns,
                                                  WeightForm form) override {
        const WatchedDevice::Buffers before = watched().buffers();
        auto both = std::make_unique<PairedWeight>();
        both->real = real_->make_prepared(rows, columns, form);
        both->meta = meta_->make_prepared(rows, columns, form);
        for (const auto& [address, size] : watched().buffers()) {
            if (!before.contains(address)) both->memory.push_back({address, size});
        }
        return both;
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        auto& both = dynamic_cast<PairedWeight&>(prepared);
        meta_->prepare(weight, *both.meta, *meta_stream_);
        watch(
            "prepare", &both, {}, [&] { real_->prepare(weight, *both.real, stream); }, stream);
    }
    void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream& stream) override {
        auto& both = dynamic_cast<PairedWeight&>(prepared);
        meta_->prepare(weight, *both.meta, *meta_stream_);
        watch(
            "prepare", &both, {}, [&] { real_->prepare(weight, *both.real, stream); }, stream);
    }

    template <typename Op>
    Bytes scratch_of(const Op& op) const {
        return real_->workspace_bytes(with_weight(op, &PairedWeight::real));
    }
    template <typename Op>
    void queue(const Op& op, Workspace workspace, Stream& stream) {
        meta_->run(with_weight(op, &PairedWeight::meta), workspace, *meta_stream_);
        watch(
            std::string(Op::kName), weight_of(op), workspace,
            [&] { real_->run(with_weight(op, &PairedWeight::real), workspace, stream); }, stream);
    }

private:
    WatchedDevice& watched() { return dynamic_cast<WatchedDevice&>(real_->device()); }

    using Ranges = std::vector<AddressRange>;
    // Replaces a range of meta's weight by the buffers of the real weight.
    static Ranges real_ranges(std::span<const AddressRange> declared, const PairedWeight* weight) {
        Ranges ranges;
        for (const AddressRange& range : declared) {
            if (range.address < kMetaMemory) {
                ranges.push_back(range);
            } else if (weight != nullptr) {
                ranges.insert(ranges.end(), weight->memory.begin(), weight->memory.end());
            }
        }
        return ranges;
    }

    // Checks the op that meta recorded last; `run` queues it on the real backend.
    template <typename Run>
    void watch(const std::string& name, const PairedWeight* weight, Workspace workspace,
               const Run& run, Stream& stream) {
        stream.synchronize();
        const ScheduleItem& item = recorder_.schedule().items.back();
        const Ranges reads = real_ranges(recorder_.schedule().reads(item), weight);
        const Ranges writes = real_ranges(recorder_.schedule().writes(item), weight);
        Declared& declared = declared_[name];
        ++declared.num_calls;
        const auto fail = [&](const AddressRange& at, std::string_view what) {
            if (at.size > 0) declared.faults.push_back(format("{} {}", what, place(at)));
        };

        const Snapshot before(watched().buffers());
        run();
        stream.synchronize();
        fail(before.changed_outside(writes), "wrote to");
        declared.changed.resize(writes.size());
        for (std::size_t i = 0; i < writes.size(); ++i)
            declared.changed[i] = declared.changed[i] || before.differs(writes[i]);

        const Snapshot after(watched().buffers());
        Ranges both = reads;
        both.insert(both.end(), writes.begin(), writes.end());
        before.spoil_all_but(both);
        run();
        stream.synchronize();
        for (const AddressRange& range : writes) {
            const bool scratch = range.address == std::bit_cast<std::uint64_t>(workspace.data);
            if (!scratch && after.differs(range)) fail(range, "something undeclared decides on");
        }
        after.restore();
    }
    // Names the buffer and the byte in it.
    std::string place(const AddressRange& at) {
        const auto next = watched().buffers().upper_bound(at.address);
        const auto [address, size] = *std::prev(next);
        return format("byte {} of buffer {} of {} bytes", at.address - address,
                      std::distance(watched().buffers().begin(), next), size);
    }

    static constexpr std::uint64_t kMetaMemory = std::uint64_t{1} << 56;
    DeclaredOps& declared_;
    ScheduleRecorder recorder_;
    std::unique_ptr<Kernels> real_, meta_;
    std::unique_ptr<Stream> meta_stream_;
};

}  // namespace

void watch_case(const OpCase& op_case, DType compute, DeclaredOps& declared) {
    Watching watching(compute, declared);
    run_case(op_case, watching, kSeed);
}

}  // namespace rm::test
