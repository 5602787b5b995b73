#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/model/parameters.h"
#include "kernels/kernels.h"

namespace rm {

// Consecutive elements of one parameter's part in one unit, and where this rank keeps what belongs
// to them.
struct StatePiece {
    int parameter = 0;
    int unit = 0;            // kNoUnit: of norms
    std::int64_t first = 0;  // element of the parameter's part
    std::int64_t count = 0;
    TensorView weight;   // (count) master
    TensorView grad;     // (count) accum or bf16
    TensorView moment1;  // (count) accum or bf16
    TensorView moment2;  // like moment1
};

// This rank's share of a gradient to which every tensor rank adds (replicated key-value heads):
// elements `in_unit` of the unit's flat buffer.
struct SharedGrad {
    int unit = 0;
    Part in_unit;
    TensorView grad;
};

// A rank's state: master weights, their gradients and both moments, whole or sharded. Units are
// held whole at stage 0 and as this rank's part from stage 1 on; gradients as parts from stage 2
// on. Norms are whole on every rank. The whole state is on the device or in pinned host memory;
// on the host, and with gradients in bf16, the stage is at least 2, even for a single rank, whose
// part is the whole. A state of weights only has neither gradients nor moments: their views are
// empty.
class WeightState {
public:
    // `host`: the kernels of the host, borrowed, when the state lives there; null: on the device of
    // `kernels`.
    WeightState(Kernels& kernels, const ModelConfig& model, const WeightShare& share = {},
                const StateTypes& types = {}, Kernels* host = nullptr);

    const ParameterTable& table() const { return table_; }
    const WeightShare& share() const { return share_; }
    bool trains() const { return !units_.grads.empty(); }
    // Gives host code access to the state.
    Device& device() const { return device_; }
    // Pinned host memory of a kind; none where the state is on the device.
    Bytes host_bytes(MemoryKind kind) const { return host_bytes_[usize(kind)]; }
    const Parameter& parameter(int i) const { return table_.all[usize(i)]; }
    const Unit& unit(int i) const { return table_.units[usize(i)]; }

    // All that this rank holds and updates, by parameter, ascending.
    const std::vector<StatePiece>& held() const { return held_; }
    // The subset of held() that this rank owns: exactly one rank owns each element of the model.
    const std::vector<StatePiece>& owned() const { return owned_; }
    const std::vector<SharedGrad>& tensor_shared_grads() const { return tensor_shared_grads_; }

    // The part of a unit's flat buffer that this rank owns, and where in the unit it lies.
    TensorView master_part(int unit) const;
    TensorView grad_part(int unit) const;
    Part part_in_unit(int unit) const;
    // A whole unit: weights at stage 0, gradients at stages 0 and 1.
    TensorView whole_weights(int unit) const;
    TensorView whole_grads(int unit) const;
    const TensorView& all_grads() const { return units_.grads; }
    DType gradient_type() const { return units_.grads.dtype(); }
    const TensorView& norm_weights() const { return norms_.weights; }
    const TensorView& norm_grads() const { return norms_.grads; }
    // In the part's shape. Weights: where they are held whole. Norms: always.
    TensorView weight(int parameter) const {
        return view(units_.weights, norms_.weights, parameter);
    }
    TensorView grad(int parameter) const { return view(units_.grads, norms_.grads, parameter); }

    // Host side, while no work is queued. Values depend on (seed, parameter, element) only.
    void initialize(std::uint64_t seed);
    void zero_moments();

private:
    struct Flat {
        TensorView weights, grads, moments1, moments2;
    };
    bool grads_whole() const { return share_.stage < 2; }
    bool state_whole() const { return share_.stage < 1; }
    void allocate(Kernels& kernels, const StateTypes& types, const Kernels* host);
    TensorView view(const TensorView& units, const TensorView& norms, int parameter) const;
    TensorView part_of_unit(const TensorView& units, bool whole, int unit) const;
    static StatePiece piece_at(const Flat& flat, StatePiece piece, std::int64_t state,
                               std::int64_t grad);
    StatePiece norm_piece(int parameter, Part range) const;
    StatePiece unit_piece(int parameter, int block, Part range) const;
    void list_norm(int parameter);
    void list_block(int parameter, int block);
    void list_pieces();

    Device& device_;
    WeightShare share_;
    ParameterTable table_;
    std::vector<Tensor> device_memory_;  // one of these owns what follows
    std::vector<PinnedBuffer> host_memory_;
    std::array<Bytes, kNumMemoryKinds> host_bytes_{};
    // Weights in master, gradients and moments in accum or bf16.
    Flat units_;  // one after another, whole or this rank's parts
    Flat norms_;
    std::vector<StatePiece> held_;
    std::vector<StatePiece> owned_;
    std::vector<SharedGrad> tensor_shared_grads_;
};

}  // namespace rm
