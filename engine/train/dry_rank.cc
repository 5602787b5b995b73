#include "engine/train/dry_rank.h"

#include <map>

#include "base/clock.h"
#include "engine/memory/arena_planner.h"
#include "engine/schedule/buffers.h"
#include "engine/schedule/races.h"
#include "engine/train/batch.h"

namespace rm {
namespace {

// A transport that has a place among the ranks and moves nothing.
class NoTransport final : public Transport {
public:
    NoTransport(int rank, int num_ranks) : rank_(rank), num_ranks_(num_ranks) {}
    std::string_view name() const override { return "none"; }
    int rank() const override { return rank_; }
    int num_ranks() const override { return num_ranks_; }
    MessageHandle send(int /*to*/, std::span<const std::byte> /*bytes*/) override { return fail(); }
    MessageHandle recv(int /*from*/, std::span<std::byte> /*bytes*/) override { return fail(); }
    void wait(MessageHandle /*handle*/) override { fail(); }
    void abort(const std::string& /*reason*/) override {}

private:
    static MessageHandle fail() { RM_CHECK(false, "a dry run moves nothing"); }
    int rank_;
    int num_ranks_;
};

// One arena of a dry rank: an address for every request, and a line in the schedule.
class Addresses final : public RequestRecorder::Listener {
public:
    Addresses(ScheduleRecorder& recorder, Device& device, int arena)
        : recorder_(recorder), device_(device), arena_(arena) {}

    void* requested(const BufferName& name, Bytes size) override {
        Live live{device_.allocate(size, MemoryKind::activations), 0};
        void* address = live.memory.data();
        live.buffer = recorder_.request(
            {to_string(name), arena_, -1, {reinterpret_cast<std::uintptr_t>(address), size.value}});
        live_.emplace(address, std::move(live));
        return address;
    }
    void released(void* address) override {
        const auto found = live_.find(address);
        recorder_.release(found->second.buffer);
        live_.erase(found);
    }

private:
    struct Live {
        Buffer memory;
        std::uint32_t buffer = 0;
    };
    ScheduleRecorder& recorder_;
    Device& device_;
    int arena_;
    std::map<void*, Live> live_;
};

std::string_view knob_advice(const MemoryPolicy& policy) {
    if (policy.kept == KeptPlace::device)
        return "memory.offload: on moves what is kept to the host";
    if (policy.working == WorkingSet::whole) {
        return "a smaller memory.chunk, memory.windows: on, or more ranks in the ring need less";
    }
    return "a smaller memory.chunk or memory.prefetch needs less";
}

Status place(ArenaPasses& passes, ArenaReuse reuse) {
    for (PassRequests& pass : passes.by_kind) {
        std::vector<Bytes> offsets;
        Bytes end;
        if (reuse == ArenaReuse::on) {
            const SystemClock clock;
            RM_TRY(const ArenaResult result,
                   plan_arena(pass.trace, {.timeout = Seconds{1}}, clock));
            offsets = result.plan.offsets;
            end = result.plan.peak;
        } else {
            for (const ArenaBlock& block : pass.trace.blocks) {
                offsets.push_back(end);
                end += block.size;
            }
        }
        for (std::size_t i = 0; i < offsets.size(); ++i)
            pass.requests[i].offset = offsets[i];
        passes.size = std::max(passes.size, end);
    }
    return {};
}

// The plan of all passes, as they were recorded one after the other.
ArenaPlan plan_of(const ArenaPasses& passes) {
    ArenaPlan plan{{}, passes.size};
    for (const PassRequests& pass : passes.by_kind) {
        for (const ArenaRequest& request : pass.requests)
            plan.offsets.push_back(request.offset);
    }
    return plan;
}

// A CPU device uses the machine's memory, too.
Status check_share(const RankMemory& all, const RankMemory& step, const RankSpec& spec,
                   bool device_is_host) {
    const Bytes used = device_is_host ? all.device + all.host : all.host;
    if (spec.host_memory.value == 0 || used <= spec.host_memory) return {};
    const Bytes for_step = device_is_host ? step.device + step.host : step.host;
    return make_error(
        ErrorCode::resource_exhausted,
        "a rank takes {} of the machine's memory, {} of it for a step, and its share of what the "
        "machine has for ranks is {}; a smaller memory.alpha, memory.keep: input, a higher ZeRO "
        "stage (parallel.zero) or more nodes need less of each",
        used, for_step, spec.host_memory);
}

Status check_limits(const RankMemory& held, const RankMemory& step, const RankSpec& spec,
                    const MemoryPolicy& policy, bool device_is_host) {
    const RankMemory all{held.device + step.device, held.host + step.host};
    if (policy.device.value > 0 && all.device > policy.device) {
        return make_error(
            ErrorCode::resource_exhausted,
            "memory.device: a rank takes {} of the device, {} of it for a step with chunks of {} "
            "tokens and the rest in all steps; the limit is {}; {}",
            all.device, step.device, policy.chunk_tokens, policy.device, knob_advice(policy));
    }
    if (policy.host.value > 0 && all.host > policy.host) {
        return make_error(
            ErrorCode::resource_exhausted,
            "memory.host: a rank takes {} of the host, {} of it for a step; the limit is {}; a "
            "smaller memory.alpha, memory.keep: input, a larger memory.keep_every or "
            "memory.keep_precision: fp8 needs less",
            all.host, step.host, policy.host);
    }
    return check_share(all, step, spec, device_is_host);
}

// `all`: everything that the rank is going to hold on the device, some of which it may have
// already. A device that does not know its memory refuses nothing.
Status check_room(const Device& device, Bytes all, const MemoryPolicy& policy) {
    const DeviceFacts facts = device.facts();
    const Bytes wanted{all.value - device.allocated().value};
    if (facts.memory.value == 0 || wanted <= facts.free) return {};
    return make_error(
        ErrorCode::resource_exhausted,
        "a rank takes {} more of its device ({}), which has {} free of {}; {}, and so "
        "do a higher ZeRO stage (parallel.zero) and more devices",
        wanted, facts.product, facts.free, facts.memory, knob_advice(policy));
}

}  // namespace

class DryRank::Passes final : public PassMemory {
public:
    Passes(ScheduleRecorder& recorder, Device& device)
        : recorder_(recorder),
          device_addresses_(recorder, device, kDeviceArena),
          host_addresses_(recorder, device, kHostArena) {}
    StepArena& device() override { return device_arena_; }
    StepArena& host() override { return host_arena_; }
    void begin(PassKind kind) override {
        kind_ = kind;
        recorder_.mark("pass");
    }
    void end() override {
        recorded.device.of(kind_) = device_arena_.take();
        recorded.host.of(kind_) = host_arena_.take();
        recorder_.mark("pass over");
    }
    StageArenas recorded;

private:
    ScheduleRecorder& recorder_;
    Addresses device_addresses_;
    Addresses host_addresses_;
    RequestRecorder device_arena_{device_addresses_};
    RequestRecorder host_arena_{host_addresses_};
    PassKind kind_ = PassKind::train;
};

DryRank::DryRank(const RankSpec& spec, const MetaOptions& options,
                 const DeviceProfile* host_profile, KeptRanges ranges)
    : recorder_(ranges),
      kernels_(make_meta_kernels(recorder_, options)),
      transport_(std::make_unique<NoTransport>(spec.rank, spec.mesh.num_ranks())),
      passes_(std::make_unique<Passes>(recorder_, kernels_->device())) {
    RankSpec dry = spec;
    dry.linears.has_history = true;  // a step that is not the first
    if (spec.host != nullptr) {
        MetaOptions host = options;
        host.types = spec.host->types();
        host.like = spec.host;
        if (host_profile != nullptr) host.profile = host_profile;
        host_ = make_meta_kernels(recorder_, host);
        dry.host = host_.get();
    }
    engine_ = std::make_unique<RankEngine>(*kernels_, *transport_, progress_, dry);
}

DryRank::~DryRank() = default;

Status DryRank::enter(const StageShape& shape) {
    return engine_->enter(shape, *passes_);
}

RankMemory DryRank::held() const {
    RankMemory held;
    if (engine_->decodes()) held.host += engine_->decoding().cache.host_bytes();
    for (std::size_t i = 0; i < kNumMemoryKinds; ++i) {
        const auto kind = static_cast<MemoryKind>(i);
        held.host += engine_->state().host_bytes(kind);
        // Requires that a pass has released all that it requested.
        held.device += kernels_->device().allocated(kind);
    }
    return held;
}

const StageArenas& DryRank::requests() const {
    return passes_->recorded;
}

StepBatch DryRank::batch(std::int64_t micro_batches) const {
    const RankLayout& layout = engine_->layout();
    StepBatch batch;
    const std::array<std::int64_t, 1> document = {layout.context};
    const DocumentLayout laid_out =
        place_documents(document, layout.padded, layout.ring, Positions::reset);
    for (std::int64_t i = 0; i < micro_batches; ++i)
        batch.micro_batches.push_back({.runs = make_sequence_runs(laid_out, layout)});
    batch.num_targets = layout.context;
    return batch;
}

// A prompt as long as the context, and a token that follows.
void DryRank::record_decoding(const SequenceRuns& runs) {
    RankEngine::Decoding& decoding = engine_->decoding();
    const Tensor logits(kernels_->device(), MemoryKind::workspace, kernels_->types().compute,
                        {engine_->layout().tensor, engine_->weights().head_rows()});
    decoding.cache.begin(runs, engine_->layout().context);
    engine_->model().queue_prompt(runs);
    decoding.cache.extend();
    const SequenceRuns latest = decode_runs(decoding.cache.num_tokens() - 1, decoding.layout);
    decoding.model->queue_logits(latest, logits);
}

StageArenas DryRank::record_passes() {
    Model& model = engine_->model();
    const StepBatch one = batch(1);
    const SequenceRuns& runs = one.micro_batches[0].runs;
    const RankShapes shapes(engine_->spec().model, engine_->layout());
    Tensor sum(kernels_->device(), MemoryKind::workspace, DType::f64, {1});
    Tensor hidden(kernels_->device(), MemoryKind::workspace, kernels_->types().compute,
                  {shapes.Ts, shapes.C});
    if (engine_->state().trains() && !engine_->decodes()) {
        engine_->weights().begin_gradients(model.ops());
        model.queue_loss_and_gradients(runs, 1, sum, Accumulate::last);
    }
    model.queue_loss(runs, sum);
    model.queue_hidden(runs, hidden);
    if (engine_->decodes()) record_decoding(runs);
    return std::move(passes_->recorded);
}

void DryRank::step(std::int64_t micro_batches) {
    recorder_.mark("step");
    const OptimizerStep optimizer{.learning_rate = 1e-4, .step = ++num_steps_};
    engine_->trainer().step(batch(micro_batches), optimizer, Trainer::Wish::none);
    recorder_.mark("step over");
}

Result<StageArenas> record_arenas(const RankSpec& spec, const StageShape& shape,
                                  const MetaOptions& options) {
    DryRank rank(spec, options);
    RM_RETURN_IF_ERROR(rank.enter(shape));
    return rank.record_passes();
}

void check_races(const StepSchedule& schedule, const StageArenas& arenas) {
    const std::array plans{plan_of(arenas.device), plan_of(arenas.host)};
    const StepSchedule placed = place_buffers(schedule, plans);
    const std::vector<Race> races = find_races(placed, 1);
    RM_CHECK(races.empty(), "the planned arenas of a pass: {}", describe(placed, races[0]));
    const std::vector<ReuseRace> reused = find_reuse_races(schedule, 1);
    RM_CHECK(reused.empty(), "an arena of a pass: {}", describe(schedule, reused[0]));
}

Result<StageArenas> plan_arenas(const RankSpec& spec, const StageShape& shape, Kernels& like) {
    DryRank rank(spec, {.types = like.types(), .like = &like});
    StageShape sampled = shape;
    if (!sampled.sample) sampled.sample = planning_sample(shape.memory);
    if (!sampled.ring_sample) sampled.ring_sample = kPlanningRing;
    RM_RETURN_IF_ERROR(rank.enter(sampled));
    StageArenas arenas = rank.record_passes();
    RM_RETURN_IF_ERROR(place(arenas.device, shape.memory.reuse));
    RM_RETURN_IF_ERROR(place(arenas.host, shape.memory.reuse));
    check_races(rank.schedule(), arenas);
    RM_RETURN_IF_ERROR(check_limits(rank.held(), {arenas.device.size, arenas.host.size}, spec,
                                    shape.memory, like.device().host_visible()));
    RM_RETURN_IF_ERROR(
        check_room(like.device(), rank.held().device + arenas.device.size, shape.memory));
    return arenas;
}

Status check_state_fits(const RankSpec& spec, const MemoryPolicy& policy, Kernels& like) {
    const DryRank rank(spec, {.types = like.types(), .like = &like});
    RM_RETURN_IF_ERROR(check_room(like.device(), rank.held().device, policy));
    return check_limits(rank.held(), {}, spec, policy, like.device().host_visible());
}

PlannedPasses::PlannedPasses(Device& device, StageArenas plan)
    : plan_(std::move(plan)),
      device_memory_(device.allocate(plan_.device.size, MemoryKind::activations)),
      host_memory_(plan_.host.size.value > 0 ? PinnedBuffer(device, plan_.host.size)
                                             : PinnedBuffer()),
      device_arena_("the device arena", device_memory_.data(), plan_.device.size),
      host_arena_("the host arena", host_memory_.data(), plan_.host.size) {}

void PlannedPasses::begin(PassKind kind) {
    device_arena_.begin(plan_.device.of(kind));
    host_arena_.begin(plan_.host.of(kind));
}

void PlannedPasses::end() {
    device_arena_.end();
    host_arena_.end();
}

}  // namespace rm
