#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/model/host_transfers.h"
#include "engine/model/linears/fp8_gather.h"
#include "engine/model/linears/fp8_monitor.h"
#include "engine/model/linears/linear_precision.h"
#include "engine/model/vocabulary/unit_buffers.h"
#include "engine/model/weight_state.h"
#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"
#include "engine/windows/rank_layout.h"

namespace rm {

struct LinearWeight {
    const PreparedWeight* prepared = nullptr;
    TensorView grad;  // (N, K) accum; of the backward pass only
};
struct NormWeight {
    TensorView weight;  // (C) master
    TensorView grad;    // (C) accum
};
// This tensor rank's share; k and v are the rows of the heads that its query heads use.
struct LayerWeights {
    NormWeight attention_norm;
    LinearWeight q, k, v, o;
    NormWeight mlp_norm;
    LinearWeight gate, up, down;
    const LayerFp8Sites* fp8 = nullptr;  // null: the layer is not in FP8
};

// Rows of the embedding, or their gradients, and their place among all rows.
struct EmbeddingRows {
    TensorView rows;  // (rows, C) master or compute; gradients: accum
    RowShare share;
};
struct HeadRows {
    LinearWeight weight;
    RowShare share;
};

// Whether more micro-batches of the step follow.
enum class Accumulate { more, last };

// Gives the schedule of a step its weights, unit by unit, by prefetch, acquire and release. Hides
// where they come from (resident, or at ZeRO stage 3 gathered for each pass) and where gradients go
// (resident, or from stage 2 on a buffer that is reduce-scattered, and from there to the host when
// the state lives there). All calls only queue work, and every rank makes the same calls in a
// step.
class Weights {
public:
    // Borrows all. With streams.host the state is on the host: the device has compute-type weights
    // (whole, or at stage 3 this rank's part) and the gradients of two units at a time. The host
    // updates norms like everything else; the device has copies.
    Weights(const RankStreams& streams, const ModelConfig& model, WeightState& state,
            const LinearPrecision& precision = {});

    const WeightState& state() const { return state_; }
    const ParameterTable& table() const { return state_.table(); }

    // Queues copies of the master weights to where passes use them; call it before the first pass.
    void refresh(const Ops& ops);
    // Queues the update of all that this rank holds, then the same copies, unit by unit: one unit
    // travels to where passes use it while the next is updated. `clip` (3) f64 is on the device;
    // update_of returns a piece's op without it and is not called after this returns. With state on
    // the host the previous update must have ended, and compute does not wait for this one: units
    // are updated in the order of the next forward pass, each queued when the pass comes near it,
    // and acquire waits for its unit.
    using UpdateOf = std::function<AdamW(const StatePiece&)>;
    void update(const Ops& ops, const TensorView& clip, const UpdateOf& update_of);
    // The host calls this before it reads or writes state there, and at the end of a run: waits for
    // the queued updates of this rank's state and throws their first failure. Does nothing when the
    // state is on the device.
    void finish_update();
    // Waits until the rank's streams are empty, an update included; throws the first error.
    void synchronize();

    // Starts to fetch the unit that is acquired after the one at hand; does nothing if it is
    // resident and up to date, or kNoUnit. The first call queues its part of compute, early; the
    // second queues communication, which may take long, so call it once more urgent messages have
    // been queued. Units take turns in two buffers, so a pass prefetches each unit before it
    // acquires the one before.
    void prefetch(const Ops& ops, int unit);
    void send_prefetched(int unit);
    const LayerWeights& acquire(const Ops& ops, int layer, LayerPass pass);
    // After a backward pass, when the layer's gradients are complete. The second call sends them;
    // make it before the next layer is released and once more urgent messages have been queued.
    void release(const Ops& ops, int layer, LayerPass pass);
    void send_gradients(int layer);
    // A pass takes embedding and head by blocks of rows. It looks tokens up in all rows at once
    // where these are resident. release_head() is of a backward pass.
    int num_blocks() const { return table().vocabulary_blocks; }
    int num_embedding_parts() const { return resident() ? 1 : num_blocks(); }
    EmbeddingRows acquire_embedding(const Ops& ops, int part);
    void release_embedding(int part);
    HeadRows acquire_head(const Ops& ops, int block, LayerPass pass);
    void release_head(const Ops& ops, int block);
    EmbeddingRows acquire_embedding_grad(const Ops& ops, int block);
    void release_embedding_grad(const Ops& ops, int block);
    const NormWeight& final_norm() const { return final_norm_; }

    // A step calls these before the first micro-batch, before each backward pass, and after the
    // last one. Once the compute stream has passed finish_gradients, each rank's part of every
    // gradient is the sum over all ranks and micro-batches.
    void begin_gradients(const Ops& ops);
    void begin_backward(Accumulate accumulate);
    void finish_gradients(const Ops& ops);
    // Adds the squares of the gradients that this rank owns to `sum` (1) f64, which starts at zero:
    // on the device, in compute-stream order; units as backward finishes them, then norms.
    void sum_squares(const Ops& ops, const TensorView& sum);

    const LinearPrecision& precision() const { return precision_; }
    Fp8Sites& fp8() { return fp8_; }
    // Between steps, on all ranks alike: the layers that the fallback names leave FP8 for the step,
    // the others come back. Their weights are prepared anew.
    void enter_step_in_fp8(const Ops& ops, std::int64_t step);
    // Before a stage, and so before refresh(): all come back.
    void leave_fallback();
    // The linears for which ops need workspace, as acquire returns them: of the first layer, and of
    // one in FP8 if there is one.
    std::array<const LayerWeights*, 2> layers_by_form() const {
        return {&layers_.front(), &layers_[layers_.size() / 2]};
    }
    // The most rows of the head, of all blocks, that a tensor rank has.
    std::int64_t head_rows() const {
        return part_of(state_.parameter(table().head).shape[0], state_.share().tensor, 0).count;
    }
    const PreparedWeight& longest_head() const { return *prepared_heads_.front(); }

    // Time that compute waits: for the host to update weights and upload them, for other ranks'
    // weights, for gradients during the backward pass, and after it.
    StreamTimer& update_exposed() { return update_exposed_; }
    LayerPassTimers& gather_exposed() { return gather_exposed_; }
    StreamTimer& drain_exposed() { return drain_exposed_; }
    StreamTimer& reduce_exposed() { return reduce_exposed_; }
    HostTraffic take_host_traffic() { return host_ ? host_->take_traffic() : HostTraffic{}; }

private:
    static constexpr int kNone = ParameterTable::kNoUnit;
    // Where a unit is gathered, in the compute type or as codes.
    struct GatherBuffer : UnitBuffer {
        bool in_fp8 = false;
        bool sent = false;
        bool awaited = true;  // false: compute has yet to wait for the gather
        std::unique_ptr<Event> staged;
        std::unique_ptr<Event> arrived;
        std::unique_ptr<Event> used;  // after the last use that is queued on compute
    };
    // A unit's gradients from stage 2 on: where they are formed, and summed over the ranks unless
    // they are rounded for that.
    struct GradBuffer : UnitBuffer {
        bool in_flight = false;  // its sums
        std::unique_ptr<Event> reduced;
        std::unique_ptr<Event> taken;  // by the host
    };
    // The gradients of a unit that a reduction sums. Those of a tied head leave before those of the
    // embedding, unless a single block holds both.
    enum class Portion { all, head, embedding };
    struct PreparedLayer {
        std::array<std::unique_ptr<PreparedWeight>, kNumLinears> linears;
    };
    using UpdateUnit = std::function<void(int unit)>;
    struct PieceUpdate {
        int unit = kNone;
        AdamW op;
    };

    bool gathers() const { return state_.share().stage >= 1; }
    bool resident() const { return state_.share().stage < 3; }
    bool grads_whole() const { return state_.share().stage < 2; }
    // Whether a pass has to fetch the unit: it is missing, or older than the host's copy.
    bool comes(int unit) const { return !resident() || host_stale(unit); }
    bool host_stale(int unit) const { return host_stale_[usize(unit)]; }
    bool is_layer(int unit) const;
    bool is_embedding(int unit) const;
    int layer_of(int unit) const { return unit - table().layer_unit(0); }
    bool travels_in_fp8(int unit) const;
    bool uses_all_rows(int parameter) const;
    bool tied() const { return table().head == table().embedding; }
    // Whether the gradients of a tied head wait for the embedding's.
    bool sums_tied() const { return tied() && num_blocks() == 1; }
    void make_gather_buffers();
    void make_grad_buffers();
    void make_grad_events(GradBuffer& buffer) const;
    void make_norms();
    void make_prepared_layers();
    void make_prepared_heads();
    std::vector<int> units_in_order(LayerPass pass) const;
    void stage_first(const Ops& ops);
    TensorView uploaded_part(int unit) const;
    void renew_from_host(const Ops& ops);
    void queue_updates(int unit);
    void queue_all_updates();
    void keep_part(const Ops& ops, int unit);
    void renew(const Ops& ops, const UpdateUnit& update);
    void finish_renewal(const Ops& ops, int unit);
    void stage(const Ops& ops, int unit);
    void send(int unit);
    void wait_for(const Ops& ops, int unit, LayerPass pass = LayerPass::forward);
    // A parameter's part in a unit's flat buffer, narrowed to the rows that this rank uses.
    TensorView used_rows(const TensorView& flat, int parameter) const;
    TensorView whole_unit(int unit);
    TensorView travelling(const GatherBuffer& buffer) const;
    int num_layers() const { return static_cast<int>(std::ssize(table().layers)); }
    WeightForm form_of(int layer) const { return forms_[usize(layer)]; }
    std::size_t prepared_index(int layer) const;
    PreparedLayer make_prepared_layer(int layer) const;
    void link_prepared(int layer);
    bool take_form(int layer, WeightForm form);
    void prepare_layer(const Ops& ops, int layer);
    void prepare_head(const Ops& ops, int block);
    PreparedWeight& prepared_head(int block) const;
    // Embedding or head: a block in its unit's flat buffer, all of the part, and what rows these
    // are.
    TensorView block_rows(const TensorView& flat, int block) const;
    TensorView whole_embedding();
    void wait_for_embedding(const Ops& ops);
    RowShare share_of(const Part& rows) const;
    bool rounds(int unit) const;
    GradBuffer& sums_of(int unit);
    TensorView gradients_of(int unit);
    TensorView open_gradients(const Ops& ops, int unit);
    void close_gradients(const Ops& ops, int unit, Portion portion);
    void finish_forming(const Ops& ops, int unit);
    Stream& stream_for(GroupKey key) const;
    void wait_until_formed(Stream& stream);
    void sum_gradients(int unit, Portion portion);
    void reduce_shared(int unit, const TensorView& flat);
    void take_gradients(GradBuffer& buffer, Portion portion);
    void square(int unit, const TensorView& sum, const Ops& ops);
    void drain(const Ops& ops, GradBuffer& buffer, StreamTimer& exposed);
    NormWeight norm_weight(int parameter) const;

    RankStreams streams_;
    WeightState& state_;
    LinearPrecision precision_;
    Fp8Sites fp8_;
    std::vector<WeightForm> forms_;  // by layer
    HeadShare heads_;
    std::int64_t head_dim_;
    Fp8Gather fp8_gather_;
    Tensor uploaded_;  // this rank's part of all units, compute; of the host's state at stage 3
    Tensor norm_copies_, norm_sums_;        // master and accum; of the host's state
    TensorView norm_weights_, norm_grads_;  // those, or the state's own
    // One per layer, or at stage 3 one of each form for all in turn.
    std::vector<PreparedLayer> prepared_;
    // One per block, or at stage 3 one for all in turn and one for a last block that is shorter.
    std::vector<std::unique_ptr<PreparedWeight>> prepared_heads_;
    std::vector<LayerWeights> layers_;
    NormWeight final_norm_;
    UnitBuffers<GatherBuffer> gather_;
    UnitBuffers<GradBuffer> grads_;  // accum
    Tensor rounded_memory_;
    GradBuffer rounded_;  // bf16: of a unit without a buffer of its own; or unused
    std::unique_ptr<Event> grads_ready_;
    std::unique_ptr<Event> grads_summed_;
    Accumulate accumulate_ = Accumulate::last;
    Into into_sums_ = Into::overwrite;  // of the host: the first micro-batch overwrites
    bool fresh_sums_ = true;
    // With state on the host:
    std::vector<PieceUpdate> updates_;   // of the last step, not queued yet
    std::vector<bool> host_stale_;       // by unit: the passes' copy is out of date
    std::vector<bool> host_head_stale_;  // by block: likewise the prepared head
    StreamTimer update_exposed_;
    LayerPassTimers gather_exposed_;
    StreamTimer drain_exposed_;
    StreamTimer reduce_exposed_;
    // Null: state is on the device. Declared last: its uploads still write the buffers above.
    std::unique_ptr<HostTransfers> host_;
};

}  // namespace rm
