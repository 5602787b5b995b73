#include "engine/model/weights.h"

// Updates weights between steps.
namespace rm {

void Weights::refresh(const Ops& ops) {
    if (host_) {
        queue_all_updates();
        return renew_from_host(ops);
    }
    renew(ops, [](int /*unit*/) {});
}

void Weights::update(const Ops& ops, const TensorView& clip, const UpdateOf& update_of) {
    const TensorView here = host_ ? host_->take_clip(clip) : clip;
    const auto op_of = [&](const StatePiece& piece) {
        AdamW op = update_of(piece);
        op.clip = here;
        return op;
    };
    if (host_) {
        RM_CHECK(updates_.empty(), "{} updates of the last step were never queued",
                 updates_.size());
        for (const StatePiece& piece : state_.held())
            updates_.push_back({piece.unit, op_of(piece)});
        return renew_from_host(ops);
    }
    renew(ops, [&](int unit) {
        for (const StatePiece& piece : state_.held()) {
            if (piece.unit == unit) ops(op_of(piece));
        }
    });
}

void Weights::renew(const Ops& ops, const UpdateUnit& update) {
    for (GatherBuffer& buffer : gather_.all())
        buffer.unit = kNone;
    const std::vector<int> units = units_in_order(LayerPass::forward);
    const bool scales = fp8_gather_.holds_any();  // which need all updates
    update(ParameterTable::kNoUnit);
    for (const int unit : units) {
        if (scales) update(unit);
    }
    if (scales) fp8_gather_.find_scales(ops, gather_.all().front().memory);
    int previous = kNone;
    for (const int unit : units) {
        if (!scales) update(unit);
        if (resident() && gathers()) {
            stage(ops, unit);
            send(unit);
        }
        if (previous != kNone) finish_renewal(ops, previous);
        previous = unit;
    }
    finish_renewal(ops, previous);
    if (resident()) return;
    stage_first(ops);
    send(table().embedding_unit);
    send(table().embedding_unit + 1);
}

// Stages the first units of the next forward pass: those of a resident embedding and a layer, or
// two.
void Weights::stage_first(const Ops& ops) {
    const int first = table().embedding_unit;
    const int count = resident() ? num_blocks() + 1 : 2;
    for (int unit = first; unit < first + count; ++unit)
        stage(ops, unit);
}

void Weights::finish_renewal(const Ops& ops, int unit) {
    if (!resident()) return;
    if (is_embedding(unit) && !tied()) return;
    if (gathers()) wait_for(ops, unit);
    if (is_layer(unit)) return prepare_layer(ops, layer_of(unit));
    prepare_head(ops, unit - table().head_unit);
}

// Marks all copies that passes use as stale. Uploads the first units of the next pass now and the
// others when that pass reaches them; sends nothing to other ranks, so that the end of a step never
// waits for an update. Norms are uploaded first, so a pass that waits for any unit has them.
void Weights::renew_from_host(const Ops& ops) {
    for (GatherBuffer& buffer : gather_.all())
        buffer.unit = kNone;
    host_stale_.assign(host_stale_.size(), true);
    host_head_stale_.assign(host_head_stale_.size(), true);
    queue_updates(ParameterTable::kNoUnit);
    host_->bring(state_.norm_weights(), norm_weights_);
    stage_first(ops);
}

// Queues the last step's updates of a unit that are not queued yet.
void Weights::queue_updates(int unit) {
    for (const PieceUpdate& update : updates_) {
        if (update.unit == unit) host_->ops()(update.op);
    }
    std::erase_if(updates_, [unit](const PieceUpdate& update) { return update.unit == unit; });
}

void Weights::queue_all_updates() {
    for (const PieceUpdate& update : updates_)
        host_->ops()(update.op);
    updates_.clear();
}

void Weights::finish_update() {
    if (!host_) return;
    queue_all_updates();
    host_->synchronize();
}

void Weights::synchronize() {
    // A failed hop leaves garbage in compute, so the communication error is the one to show.
    streams_.communication.synchronize();
    streams_.to_host.synchronize();
    streams_.from_host.synchronize();
    finish_update();
    streams_.compute.synchronize();
    for (const Stream* stream :
         {&streams_.communication, &streams_.to_host, &streams_.from_host, &streams_.compute})
        streams_.order.joined(*stream);
}

}  // namespace rm
