#include <gtest/gtest.h>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/device_profile.h"
#include "kernels/meta/meta_kernels.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;
constexpr NumericTypes kTypes{DType::bf16, DType::f32, DType::f32};

// A meta backend and the schedule it recorded.
struct Rig {
    explicit Rig(Kernels* like = nullptr)
        : kernels(make_meta_kernels(recorder, {.types = kTypes, .like = like})),
          stream(device().make_stream("compute")) {}
    Device& device() const { return kernels->device(); }
    Tensor tensor(DType dtype, std::initializer_list<std::int64_t> shape) const {
        return {device(), MemoryKind::activations, dtype, shape};
    }
    const StepSchedule& schedule() const { return recorder.schedule(); }
    const ScheduleItem& last() const { return schedule().items.back(); }

    ScheduleRecorder recorder;
    std::unique_ptr<Kernels> kernels;
    std::unique_ptr<Stream> stream;
};

AddressRange of(const TensorView& x) {
    return {std::bit_cast<std::uint64_t>(x.data()), x.num_bytes().value};
}
bool same_range(const AddressRange& a, const AddressRange& b) {
    return a.address == b.address && a.size == b.size;
}
void expect_ranges(std::span<const AddressRange> ranges,
                   std::initializer_list<TensorView> tensors) {
    ASSERT_EQ(ranges.size(), tensors.size());
    for (std::size_t i = 0; i < ranges.size(); ++i)
        EXPECT_TRUE(same_range(ranges[i], of(std::data(tensors)[i]))) << "range " << i;
}

TEST(MetaDevice, GivesOutEachAddressOnceAlignedAndWithGaps) {
    Rig rig;
    std::uint64_t end = 0;
    for (const std::int64_t size : {0, 1, 64, 1000, 4096}) {
        const Buffer buffer = rig.device().allocate({size}, MemoryKind::data);
        const auto address = std::bit_cast<std::uint64_t>(buffer.data());
        EXPECT_EQ(address % 64, 0U);
        EXPECT_GT(address, end);
        end = address + static_cast<std::uint64_t>(size);
    }
    const PinnedBuffer pinned(rig.device(), {100});
    EXPECT_EQ(std::bit_cast<std::uint64_t>(pinned.data()) % 4096, 0U);
    EXPECT_GT(std::bit_cast<std::uint64_t>(pinned.data()), end);
}

TEST(MetaDevice, HoldsMoreThanAnyMachine) {
    Rig rig;
    constexpr std::int64_t T = 4 << 20, F = 28672;
    const Tensor x = rig.tensor(DType::bf16, {T, F});
    EXPECT_EQ(rig.device().allocated(), (Bytes{T * F * 2}));
    const auto before = rig.schedule().items.size();
    rig.device().zero(x);
    EXPECT_FALSE(rig.device().host_visible());
    EXPECT_EQ(rig.schedule().items.size(), before);
}

TEST(MetaDevice, RecordsTransfersWithBothEnds) {
    Rig rig;
    const Tensor x = rig.tensor(DType::f32, {25});
    const PinnedBuffer host(rig.device(), {100});
    const TensorView there(host.data(), DType::f32, {25});
    rig.device().upload(host.data(), x, *rig.stream);
    EXPECT_EQ(rig.schedule().names[rig.last().index], "upload");
    EXPECT_EQ(rig.last().op_class, OpClass::upload);
    expect_ranges(rig.schedule().reads(rig.last()), {there});
    expect_ranges(rig.schedule().writes(rig.last()), {x});
    rig.device().download(x, host.data(), *rig.stream);
    EXPECT_EQ(rig.schedule().names[rig.last().index], "download");
    EXPECT_EQ(rig.last().op_class, OpClass::download);
    expect_ranges(rig.schedule().reads(rig.last()), {x});
    expect_ranges(rig.schedule().writes(rig.last()), {there});
}

TEST(MetaStream, RecordsWaitsForTheLatestRecordOnly) {
    Rig rig;
    const auto other = rig.device().make_host_stream("communication");
    const auto event = rig.device().make_event();
    other->wait(*event);
    EXPECT_TRUE(rig.schedule().items.empty()) << "nobody recorded it";
    rig.stream->record(*event);
    rig.stream->record(*event);
    other->wait(*event);
    ASSERT_EQ(rig.schedule().items.size(), 3U);
    EXPECT_EQ(rig.last().kind, Kind::wait);
    EXPECT_EQ(rig.last().stream, 1);
    EXPECT_EQ(rig.last().index, 1U);
    EXPECT_EQ(rig.schedule().streams, (std::vector<std::string>{"compute", "communication"}));
}

TEST(MetaStream, RunsNothing) {
    Rig rig;
    const auto must_not_run = [] { FAIL() << "ran"; };
    rig.stream->call_host("mark", must_not_run);
    EXPECT_TRUE(rig.schedule().items.empty());
    rig.stream->enqueue("write", must_not_run);
    EXPECT_EQ(rig.last().kind, Kind::work);
    rig.stream->synchronize();
    EXPECT_EQ(rig.last().kind, Kind::join);
}

TEST(MetaStream, KeepsWhatTheEngineDeclaresOfItsOwnWork) {
    Rig rig;
    const Tensor from = rig.tensor(DType::f32, {8}), to = rig.tensor(DType::f32, {16});
    const std::array reads{range_of(from)}, writes{range_of(to)};
    const std::array traffic{Traffic{3, 1, {32}}};
    rig.stream->queue({.op = "all_gather", .reads = reads, .writes = writes, .traffic = traffic},
                      [] {});
    expect_ranges(rig.schedule().reads(rig.last()), {from});
    expect_ranges(rig.schedule().writes(rig.last()), {to});
    ASSERT_EQ(rig.schedule().sent(rig.last()).size(), 1U);
    EXPECT_EQ(rig.schedule().sent(rig.last())[0].bytes, Bytes{32});
}

TEST(MetaStream, TakesTimeForWhatTheEngineMovesToTheHost) {
    const DeviceProfile profile = published_profiles().front();
    ScheduleRecorder recorder;
    const auto kernels = make_meta_kernels(recorder, {.profile = &profile});
    const auto stream = kernels->device().make_host_stream("host optimizer");
    const Tensor from(kernels->device(), MemoryKind::workspace, DType::f32, {1 << 20});
    const Tensor to(kernels->device(), MemoryKind::workspace, DType::f32, {1 << 20});
    const std::array reads{range_of(from)}, writes{range_of(to)};
    stream->queue({.op = "take", .reads = reads, .writes = writes, .traffic = {}}, [] {});
    EXPECT_EQ(recorder.schedule().items.back().seconds,
              seconds_of(profile, "download", work_of_bytes(4 << 20)));
}

TEST(MetaKernels, RecordAnOpWithWeightWorkspaceAndFlops) {
    Rig rig;
    const auto weight = rig.kernels->make_prepared(48, 32, WeightForm::compute);
    const Tensor master = rig.tensor(DType::f32, {48, 32}), scratch = rig.tensor(DType::f32, {10});
    const Tensor x = rig.tensor(DType::bf16, {5, 32}), y = rig.tensor(DType::bf16, {5, 48});
    rig.kernels->prepare(master, *weight, *rig.stream);
    EXPECT_EQ(rig.last().op_class, OpClass::prepare);
    const AddressRange prepared = rig.schedule().writes(rig.last())[0];
    EXPECT_EQ(prepared.size, 2 * 48 * 32 * 2);
    rig.kernels->run(LinearFwd{.x = x, .weight = weight.get(), .y = y}, {scratch->data(), {40}},
                     *rig.stream);
    const auto reads = rig.schedule().reads(rig.last());
    expect_ranges(reads.first(1), {x});
    ASSERT_EQ(reads.size(), 2U);
    EXPECT_TRUE(same_range(reads[1], prepared));
    expect_ranges(rig.schedule().writes(rig.last()), {y, scratch});
    EXPECT_EQ(rig.last().flops, 2.0 * 5 * 32 * 48);
    EXPECT_EQ(rig.last().op_class, OpClass::products);
}

TEST(MetaKernels, CountTheVisiblePairsOfAttention) {
    Rig rig;
    const std::vector<rm::Run> queries{{0, 4, 4}}, keys{{0, 0, 6}};  // see 5, 6, 6, 6
    const Tensor q = rig.tensor(DType::bf16, {4, 2, 8}), k = rig.tensor(DType::bf16, {6, 1, 8});
    const Tensor acc = rig.tensor(DType::f32, {4, 2, 8}), m = rig.tensor(DType::f32, {4, 2});
    rig.kernels->run(
        AttentionFwd{
            .state = {acc, m, m}, .q = q, .k = k, .v = k, .q_runs = queries, .kv_runs = keys},
        {}, *rig.stream);
    EXPECT_EQ(rig.last().flops, 4.0 * 8 * 2 * 23);
}

TEST(MetaKernels, CheckShapesAsOthersDo) {
    Rig rig;
    const Tensor x = rig.tensor(DType::f32, {3}), y = rig.tensor(DType::f32, {4});
    EXPECT_THROW(rig.kernels->run(Copy{.from = x, .to = y}, *rig.stream), CheckError);
    EXPECT_TRUE(rig.schedule().items.empty());
}

TEST(MetaKernels, RefuseStreamsAndWeightsOfOtherBackends) {
    Rig rig;
    const auto cpu = make_cpu_kernels({});
    const auto stream = cpu->device().make_stream("cpu");
    const Tensor x = rig.tensor(DType::bf16, {4, 8}), y = rig.tensor(DType::bf16, {4, 8});
    EXPECT_THROW(rig.kernels->run(Copy{.from = x, .to = y}, *stream), CheckError);
    const auto weight = cpu->make_prepared(8, 8, WeightForm::compute);
    EXPECT_THROW(
        rig.kernels->run(LinearFwd{.x = x, .weight = weight.get(), .y = y}, {}, *rig.stream),
        CheckError);
}

TEST(MetaKernels, TakeTheSizesOfTheBackendTheyStandFor) {
    const auto cpu = make_cpu_kernels({.num_threads = 2, .compute = DType::bf16});
    Rig rig(cpu.get());
    EXPECT_EQ(rig.kernels->prepared_bytes(48, 32, WeightForm::compute),
              cpu->prepared_bytes(48, 32, WeightForm::compute));
    const auto weight = rig.kernels->make_prepared(48, 32, WeightForm::compute),
               real = cpu->make_prepared(48, 32, WeightForm::compute);
    const TensorView x(nullptr, DType::bf16, {7, 32}), y(nullptr, DType::bf16, {7, 48});
    const LinearFwd op{.x = x, .weight = weight.get(), .y = y};
    LinearFwd same = op;
    same.weight = real.get();
    EXPECT_GT(cpu->workspace_bytes(same).value, 0);
    EXPECT_EQ(rig.kernels->workspace_bytes(op), cpu->workspace_bytes(same));
    EXPECT_EQ(Rig().kernels->workspace_bytes(op), Bytes{});
}

}  // namespace
}  // namespace rm
