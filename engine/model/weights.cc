#include "engine/model/weights.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

std::array<LinearWeight*, kNumLinears> linears_of(LayerWeights& w) {
    return {&w.q, &w.k, &w.v, &w.o, &w.gate, &w.up, &w.down};
}

}  // namespace

Weights::Weights(const RankStreams& streams, const ModelConfig& model, WeightState& state,
                 const LinearPrecision& precision)
    : streams_(streams),
      state_(state),
      precision_(precision),
      fp8_(streams.kernels.device(), precision, model.num_layers),
      heads_(head_share(model, state.share().tensor, state.share().tensor_index)),
      head_dim_(model.head_dim),
      fp8_gather_(streams, state, precision,
                  [this](int parameter) { return uses_all_rows(parameter); }),
      grads_ready_(streams.kernels.device().make_event()),
      grads_summed_(streams.kernels.device().make_event()) {
    if (streams.host != nullptr) host_ = std::make_unique<HostTransfers>(streams, state);
    make_gather_buffers();
    make_grad_buffers();
    make_norms();
    make_prepared_layers();
    make_prepared_heads();
    host_stale_.resize(table().units.size());
    host_head_stale_.resize(usize(num_blocks()));
    final_norm_ = norm_weight(table().final_norm);
}

bool Weights::is_layer(int unit) const {
    const int layer = layer_of(unit);
    return layer >= 0 && layer < static_cast<int>(table().layers.size());
}

bool Weights::travels_in_fp8(int unit) const {
    if (!is_layer(unit)) return false;
    return fp8_gather_.holds(layer_of(unit)) && form_of(layer_of(unit)) == WeightForm::fp8;
}

bool Weights::uses_all_rows(int parameter) const {
    const Parameter& p = state_.parameter(parameter);
    return p.cut != Cut::none || heads_.kv_count * head_dim_ == p.part_shape[0];
}

void Weights::make_gather_buffers() {
    Device& device = streams_.kernels.device();
    const DType compute = streams_.kernels.types().compute;
    if (gathers()) {
        // Tokens are looked up in a resident embedding all through a step.
        gather_.allocate(device, MemoryKind::weights, compute, table(), 2,
                         [&](int unit) { return resident() && is_embedding(unit); });
    }
    for (GatherBuffer& buffer : gather_.all()) {
        for (auto* event : {&buffer.staged, &buffer.arrived, &buffer.used})
            *event = device.make_event();
    }
    if (!host_ || resident()) return;
    uploaded_ = Tensor(device, MemoryKind::weights, compute,
                       {table().unit_elements / state_.share().zero_size});
}

void Weights::make_grad_buffers() {
    if (grads_whole() || !state_.trains()) return;
    Device& device = streams_.kernels.device();
    const DType accum = streams_.kernels.types().accum, kept = state_.gradient_type();
    const bool round = kept != accum;
    // While the rounded gradients of one unit are summed, those of the next are formed. A tied
    // head's gradients wait for the embedding's.
    grads_.allocate(device, MemoryKind::gradients, accum, table(), round ? 1 : 2,
                    [&](int unit) { return sums_tied() && is_embedding(unit); });
    device.zero(grads_.memory());
    for (GradBuffer& buffer : grads_.all())
        make_grad_events(buffer);
    if (!round) return;
    rounded_memory_ = Tensor(device, MemoryKind::gradients, kept, {shared_elements(table())});
    rounded_.memory = rounded_memory_;
    device.zero(rounded_memory_);
    make_grad_events(rounded_);
}

void Weights::make_grad_events(GradBuffer& buffer) const {
    buffer.reduced = streams_.kernels.device().make_event();
    buffer.taken = streams_.kernels.device().make_event();
}

void Weights::make_norms() {
    norm_weights_ = state_.norm_weights();
    norm_grads_ = state_.norm_grads();
    if (!host_) return;
    Device& device = streams_.kernels.device();
    const std::int64_t count = table().norm_elements;
    norm_copies_ = Tensor(device, MemoryKind::weights, norm_weights_.dtype(), {count});
    norm_weights_ = norm_copies_;
    if (!state_.trains()) return;
    norm_sums_ = Tensor(device, MemoryKind::gradients, norm_grads_.dtype(), {count});
    norm_grads_ = norm_sums_;
}

// The first layer never changes its form where others do.
std::size_t Weights::prepared_index(int layer) const {
    if (resident()) return usize(layer);
    return form_of(layer) == form_of(0) ? 0 : 1;
}

Weights::PreparedLayer Weights::make_prepared_layer(int layer) const {
    const auto parameters = linears_of(table().layers[usize(layer)]);
    PreparedLayer prepared;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = state_.parameter(parameters[i]);
        const bool replicated = p.cut == Cut::none;
        prepared.linears[i] = streams_.kernels.make_prepared(
            replicated ? heads_.kv_count * head_dim_ : p.part_shape[0], p.part_shape[1],
            form_of(layer));
    }
    return prepared;
}

void Weights::make_prepared_layers() {
    for (int layer = 0; layer < num_layers(); ++layer)
        forms_.push_back(precision_.form_of(layer, num_layers()));
    for (int layer = 0; layer < num_layers(); ++layer) {
        if (prepared_index(layer) == prepared_.size())
            prepared_.push_back(make_prepared_layer(layer));
        const LayerParameters& p = table().layers[usize(layer)];
        LayerWeights& weights = layers_.emplace_back();
        weights.attention_norm = norm_weight(p.attention_norm);
        weights.mlp_norm = norm_weight(p.mlp_norm);
        link_prepared(layer);
    }
}

void Weights::link_prepared(int layer) {
    LayerWeights& weights = layers_[usize(layer)];
    weights.fp8 = form_of(layer) == WeightForm::compute ? nullptr : &fp8_.layer(layer);
    const PreparedLayer& prepared = prepared_[prepared_index(layer)];
    for (std::size_t i = 0; i < prepared.linears.size(); ++i)
        linears_of(weights)[i]->prepared = prepared.linears[i].get();
}

// Returns whether it had another. The old form is given back first: on no backend does a layer need
// more memory in the compute type.
bool Weights::take_form(int layer, WeightForm form) {
    if (form == form_of(layer)) return false;
    forms_[usize(layer)] = form;
    if (resident()) {
        prepared_[usize(layer)] = {};
        prepared_[usize(layer)] = make_prepared_layer(layer);
    }
    link_prepared(layer);
    return true;
}

void Weights::enter_step_in_fp8(const Ops& ops, std::int64_t step) {
    bool changed = false;
    for (int layer = 0; layer < num_layers(); ++layer) {
        const WeightForm own = precision_.form_of(layer, num_layers());
        const bool falls_back = fp8_.fallback().in_bf16(layer, step);
        if (take_form(layer, falls_back ? WeightForm::compute : own)) changed = true;
    }
    if (!changed || !resident()) return;
    finish_update();
    refresh(ops);
}

void Weights::leave_fallback() {
    for (int layer = 0; layer < num_layers(); ++layer)
        take_form(layer, precision_.form_of(layer, num_layers()));
}

NormWeight Weights::norm_weight(int parameter) const {
    const Parameter& p = state_.parameter(parameter);
    const TensorView weight = norm_weights_.rows(p.first, p.part_elements());
    if (!state_.trains()) return {weight, {}};
    return {weight, norm_grads_.rows(p.first, p.part_elements())};
}

void Weights::prefetch(const Ops& ops, int unit) {
    if (unit == kNone || !comes(unit)) return;
    stage(ops, unit);
    gather_.take_turn(gather_.of(unit));
}

void Weights::send_prefetched(int unit) {
    if (unit != kNone && comes(unit)) send(unit);
}

TensorView Weights::uploaded_part(int unit) const {
    return uploaded_->rows(state_.unit(unit).first / state_.share().zero_size,
                           state_.part_in_unit(unit).count);
}

// Puts this rank's part in its place.
void Weights::stage(const Ops& ops, int unit) {
    if (gather_.find(unit) != nullptr) return;
    GatherBuffer& buffer = gather_.next(unit);
    RM_CHECK(buffer.unit == kNone || buffer.awaited, "unit {} takes the place of unit {} too early",
             unit, buffer.unit);
    buffer.unit = unit;
    buffer.sent = buffer.awaited = false;
    buffer.in_fp8 = travels_in_fp8(unit);
    const Part part = state_.part_in_unit(unit);
    const TensorView place = buffer.memory.rows(part.first, part.count);
    // Compute is past the last use of what was gathered here before.
    if (host_stale(unit)) {
        queue_updates(unit);
        host_->bring(state_.master_part(unit), place, buffer.used.get());
        return host_->record_brought(*buffer.staged);
    }
    if (buffer.in_fp8) {
        fp8_gather_.round_part(ops, layer_of(unit), buffer.memory);
    } else {
        ops(Copy{host_ ? uploaded_part(unit) : state_.master_part(unit), place});
    }
    streams_.order.record(streams_.compute, *buffer.staged);
}

// The part of the buffer that the gather fills: with numbers, or with their codes.
TensorView Weights::travelling(const GatherBuffer& buffer) const {
    if (buffer.in_fp8) return fp8_gather_.codes(layer_of(buffer.unit), buffer.memory);
    return buffer.memory.rows(0, state_.unit(buffer.unit).num_elements);
}

void Weights::send(int unit) {
    GatherBuffer& buffer = gather_.of(unit);
    if (buffer.sent) return;
    buffer.sent = true;
    // A single rank gathers nothing, and no other rank's messages wait for its host.
    if (state_.share().zero_size == 1) return;
    streams_.order.wait(streams_.communication, *buffer.staged);
    streams_.communicator.all_gather(GroupKey::gradient, travelling(buffer));
    streams_.order.record(streams_.communication, *buffer.arrived);
}

void Weights::wait_for(const Ops& ops, int unit, LayerPass pass) {
    stage(ops, unit);
    send(unit);
    GatherBuffer& buffer = gather_.of(unit);
    buffer.awaited = true;
    const bool from_host = host_stale(unit);
    // With several ranks, the gather has waited for it.
    if (from_host && state_.share().zero_size == 1)
        streams_.wait_exposed(*buffer.staged, update_exposed_);
    StreamTimer& exposed = from_host ? update_exposed_ : gather_exposed_.of(pass);
    streams_.wait_exposed(*buffer.arrived, exposed);
    if (from_host) keep_part(ops, unit);
}

// Keeps the part that was uploaded from the host: later passes gather it from here.
void Weights::keep_part(const Ops& ops, int unit) {
    host_stale_[usize(unit)] = false;
    if (resident()) return;
    const Part part = state_.part_in_unit(unit);
    ops(Copy{gather_.of(unit).memory.rows(part.first, part.count), uploaded_part(unit)});
}

TensorView Weights::used_rows(const TensorView& flat, int index) const {
    const Parameter& p = state_.parameter(index);
    const TensorView part =
        flat.rows(p.first, p.part_elements()).reshaped({p.part_shape[0], p.part_shape[1]});
    if (p.cut != Cut::none) return part;
    return part.rows(heads_.kv_first * head_dim_, heads_.kv_count * head_dim_);
}

// The weights of a unit that is whole on this rank: master weights at stage 0, else gathered ones.
TensorView Weights::whole_unit(int unit) {
    const std::int64_t size = state_.unit(unit).num_elements;
    return gathers() ? gather_.of(unit).memory.rows(0, size) : state_.whole_weights(unit);
}

void Weights::prepare_layer(const Ops& ops, int layer) {
    const int unit = table().layer_unit(layer);
    const TensorView flat = whole_unit(unit);
    const auto parameters = linears_of(table().layers[usize(layer)]);
    PreparedLayer& prepared = prepared_[prepared_index(layer)];
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        PreparedWeight& to = *prepared.linears[i];
        if (gathers() && gather_.of(unit).in_fp8) {
            const Fp8Matrix codes = fp8_gather_.weight(layer, static_cast<int>(i), flat);
            ops.kernels().prepare(codes, to, ops.stream());
        } else {
            ops.kernels().prepare(used_rows(flat, parameters[i]), to, ops.stream());
        }
    }
}

std::vector<int> Weights::units_in_order(LayerPass pass) const {
    std::vector<int> units;
    for (int layer = 0; layer < static_cast<int>(table().layers.size()); ++layer)
        units.push_back(table().layer_unit(layer));
    for (int block = 0; !tied() && block < num_blocks(); ++block)
        units.push_back(table().head_unit + block);
    if (pass == LayerPass::backward) std::ranges::reverse(units);
    for (int block = 0; block < num_blocks(); ++block)
        units.push_back(table().embedding_unit + block);
    return units;
}

const LayerWeights& Weights::acquire(const Ops& ops, int layer, LayerPass pass) {
    LayerWeights& weights = layers_[usize(layer)];
    const int unit = table().layer_unit(layer);
    if (comes(unit)) {
        wait_for(ops, unit, pass);
        prepare_layer(ops, layer);
        streams_.order.record(streams_.compute, *gather_.of(unit).used);
    }
    if (pass == LayerPass::backward) {
        const TensorView flat = open_gradients(ops, unit);
        const auto parameters = linears_of(table().layers[usize(layer)]);
        for (std::size_t i = 0; i < parameters.size(); ++i)
            linears_of(weights)[i]->grad = used_rows(flat, parameters[i]);
    }
    return weights;
}

void Weights::release(const Ops& ops, int layer, LayerPass pass) {
    if (pass == LayerPass::backward) finish_forming(ops, table().layer_unit(layer));
}

void Weights::send_gradients(int layer) {
    sum_gradients(table().layer_unit(layer), Portion::all);
}

void Weights::begin_gradients(const Ops& ops) {
    ops(FillZero{norm_grads_});
    fresh_sums_ = true;
    if (host_) {
        host_->ops()(FillZero{host_->squares()});
    } else {
        ops(FillZero{state_.all_grads()});
    }
}

void Weights::begin_backward(Accumulate accumulate) {
    queue_all_updates();  // they read sums that this pass overwrites
    accumulate_ = accumulate;
    into_sums_ = std::exchange(fresh_sums_, false) ? Into::overwrite : Into::add;
}

// Whether a unit's gradients are rounded for the sum over the ranks. Units with buffers of their
// own are not: they would need more memory for it.
bool Weights::rounds(int unit) const {
    return !rounded_.memory.empty() && grads_.is_shared(unit);
}

// Where a unit's gradients are summed over the ranks, from stage 2 on.
Weights::GradBuffer& Weights::sums_of(int unit) {
    return rounds(unit) ? rounded_ : grads_.of(unit);
}

// Where a unit's gradients are formed.
TensorView Weights::gradients_of(int unit) {
    if (grads_whole()) return state_.whole_grads(unit);
    return grads_.of(unit).memory.rows(0, state_.unit(unit).num_elements);
}

TensorView Weights::open_gradients(const Ops& ops, int unit) {
    if (grads_whole()) return gradients_of(unit);
    GradBuffer& buffer = grads_.next(unit);
    drain(ops, buffer, drain_exposed_);
    buffer.unit = unit;
    const TensorView flat = gradients_of(unit);
    ops(FillZero{flat});
    return flat;
}

// The last work of compute on a unit's gradients before they are summed over the ranks.
void Weights::finish_forming(const Ops& ops, int unit) {
    if (rounds(unit)) {
        drain(ops, rounded_, drain_exposed_);
        rounded_.unit = unit;
        const TensorView formed = gradients_of(unit);
        ops(Copy{formed, rounded_.memory.rows(0, formed.num_elements())});
    }
    streams_.order.record(streams_.compute, *grads_ready_);
}

void Weights::close_gradients(const Ops& ops, int unit, Portion portion) {
    finish_forming(ops, unit);
    sum_gradients(unit, portion);
}

// The stream for a group's communication; a rank that is alone sends nothing.
Stream& Weights::stream_for(GroupKey key) const {
    const bool alone = streams_.communicator.group(key).size() == 1;
    return alone ? streams_.compute : streams_.communication;
}

// A tensor group needs no wait: it has since exchanged tiles on the same stream, but for what was
// rounded after that.
void Weights::wait_until_formed(Stream& stream) {
    const bool has_exchanged = state_.share().tensor > 1 && rounded_.memory.empty();
    if (!has_exchanged) streams_.order.wait(stream, *grads_ready_);
}

// Sums a unit's gradients over the ranks while compute continues: once per step if they are held
// whole, else once per micro-batch.
void Weights::sum_gradients(int unit, Portion portion) {
    if (grads_whole() && accumulate_ == Accumulate::more) return;
    const TensorView flat =
        rounds(unit) ? rounded_.memory.rows(0, state_.unit(unit).num_elements) : gradients_of(unit);
    // Gradients that tensor ranks share are summed over these, too, before they leave for the host.
    const bool shared = host_ && !state_.tensor_shared_grads().empty();
    Stream& stream = stream_for(shared ? GroupKey::world : GroupKey::gradient);
    if (is_embedding(unit) && portion != Portion::head) {
        streams_.order.wait(stream, *grads_ready_);
    } else {
        wait_until_formed(stream);
    }
    if (state_.share().stage == 0) {
        streams_.communicator.all_reduce_sum(GroupKey::gradient, flat);
    } else {
        streams_.communicator.reduce_scatter_sum(GroupKey::gradient, flat);
    }
    if (grads_whole()) return;
    if (host_) reduce_shared(unit, flat);
    GradBuffer& buffer = sums_of(unit);
    streams_.order.record(stream, *buffer.reduced);
    buffer.in_flight = true;
    if (host_) take_gradients(buffer, portion);
}

// Sums gradients that tensor ranks share over those ranks, before the host takes them.
void Weights::reduce_shared(int unit, const TensorView& flat) {
    for (const SharedGrad& shared : state_.tensor_shared_grads()) {
        if (shared.unit != unit) continue;
        streams_.communicator.all_reduce_sum(GroupKey::tensor,
                                             flat.rows(shared.in_unit.first, shared.in_unit.count));
    }
}

// Adds this rank's part to the sums; with the last micro-batch they are complete.
void Weights::take_gradients(GradBuffer& buffer, Portion portion) {
    const Part part = state_.part_in_unit(buffer.unit);
    streams_.order.wait(host_->stream(), *buffer.reduced);
    host_->take(buffer.memory.rows(part.first, part.count), state_.grad_part(buffer.unit),
                portion == Portion::embedding ? Into::add : into_sums_);
    streams_.order.record(host_->stream(), *buffer.taken);
    const bool complete = accumulate_ == Accumulate::last && portion != Portion::head;
    if (complete) square(buffer.unit, host_->squares(), host_->ops());
}

// Adds the squares of what this rank owns of a unit, or of the norms.
void Weights::square(int unit, const TensorView& sum, const Ops& ops) {
    for (const StatePiece& piece : state_.owned()) {
        if (piece.unit == unit) ops(SumSquares{piece.grad, sum});
    }
}

// Adds the buffer's sums to this rank's part; with state on the host, the host has done so.
void Weights::drain(const Ops& ops, GradBuffer& buffer, StreamTimer& exposed) {
    if (!std::exchange(buffer.in_flight, false)) return;
    streams_.wait_exposed(host_ ? *buffer.taken : *buffer.reduced, exposed);
    if (!host_) {
        const Part part = state_.part_in_unit(buffer.unit);
        ops(Add{buffer.memory.rows(part.first, part.count), state_.grad_part(buffer.unit)});
    }
}

void Weights::finish_gradients(const Ops& ops) {
    if (!host_) {
        for (GradBuffer& buffer : grads_.all())
            drain(ops, buffer, reduce_exposed_);
        drain(ops, rounded_, reduce_exposed_);
    }
    Stream& stream = stream_for(GroupKey::world);
    wait_until_formed(stream);  // norms
    if (!host_ && !state_.tensor_shared_grads().empty()) {
        // Communication must see the gradients that compute has just drained.
        streams_.order.follow(stream, streams_.compute, *grads_ready_);
        for (const SharedGrad& shared : state_.tensor_shared_grads())
            streams_.communicator.all_reduce_sum(GroupKey::tensor, shared.grad);
    }
    streams_.communicator.all_reduce_sum(GroupKey::world, norm_grads_);
    streams_.order.record(stream, *grads_summed_);
    if (!host_) return streams_.wait_exposed(*grads_summed_, reduce_exposed_);
    // Compute waits for the squares of all gradients; by then the host has taken every buffer.
    for (GradBuffer& buffer : grads_.all())
        buffer.in_flight = false;
    rounded_.in_flight = false;
    streams_.order.wait(host_->stream(), *grads_summed_);
    host_->take(norm_grads_, state_.norm_grads(), Into::overwrite);
    square(ParameterTable::kNoUnit, host_->squares(), host_->ops());
}

void Weights::sum_squares(const Ops& ops, const TensorView& sum) {
    if (host_) return host_->bring_squares(sum);
    for (const int unit : units_in_order(LayerPass::backward))
        square(unit, sum, ops);
    square(ParameterTable::kNoUnit, sum, ops);
}

}  // namespace rm
