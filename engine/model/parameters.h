#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "spec/mesh.h"
#include "spec/model_preset.h"

namespace rm {

enum class ParameterKind { embedding, norm, linear, head };

// How the ranks of a tensor group cut a parameter: each has a part of its rows or columns, as equal
// as can be (the first ones one longer), or all of it.
enum class Cut { none, rows, columns };

// The share of every parameter that a rank holds. The ZeRO group is data x ring x ulysses.
struct WeightShare {
    int tensor = 1;
    int tensor_index = 0;
    int zero_size = 1;
    int zero_index = 0;
    int stage = 0;  // of ZeRO
    int world_size = 1;
    int world_rank = 0;
    // The most elements of a block of the embedding or the head (of one row at least); 0: as many
    // as a layer's unit has.
    std::int64_t vocabulary_block = 0;
};
WeightShare make_weight_share(const Mesh& mesh, int rank, int stage);

// The types of a state: bf16; nothing: the accum type.
struct StateTypes {
    std::optional<DType> moments;    // of all parameters
    std::optional<DType> gradients;  // of units; norms' are few
    bool weights_only = false;       // of a model that only infers: neither exists
};

// One tensor of the model, named and shaped as Hugging Face stores it, the part of it that this
// tensor rank has, and where that part lies in the flat buffer of its unit. Embedding and head may
// have several units: blocks of their part's rows, in this order.
struct Parameter {
    std::string name;
    ParameterKind kind = ParameterKind::linear;
    std::vector<std::int64_t> shape;  // of the whole: (N, K), or (C) for norms
    double init_std = 0;              // 0: ones
    Cut cut = Cut::none;
    std::vector<std::int64_t> part_shape;  // of this rank's part
    std::int64_t part_start = 0;           // its first row or column in the whole
    int unit = 0;                          // the first of its units
    int num_units = 1;                     // one after another
    std::int64_t block_rows = 0;  // rows of the part in each of these, fewer in the last; 0: all
    std::int64_t first = 0;  // element of the unit's flat buffer, a multiple of kParameterAlign

    std::int64_t num_elements() const;   // of the whole
    std::int64_t part_elements() const;  // of this rank's part
    // The elements of the part, or its rows, that unit `unit + block` has.
    Part block_elements(int block) const;
    Part rows_of_block(int block) const;
    // Element `i` of the part, counted row-major, in the whole.
    std::int64_t whole_index(std::int64_t i) const;
};
constexpr std::int64_t kParameterAlign = 16;

// Parameters that travel together: gathered and reduced in one collective. The flat buffer is
// zero_size equal parts, a multiple of kParameterAlign each; rank z of the ZeRO group owns part z.
// Units of one parameter have no padding between them.
struct Unit {
    std::string name;
    std::vector<int> parameters;    // in flat order
    std::int64_t num_elements = 0;  // padding included
    std::int64_t first = 0;         // sum of the sizes of the units before it
};

// Indices into ParameterTable::all of one layer.
struct LayerParameters {
    int attention_norm = 0;
    int q = 0;
    int k = 0;
    int v = 0;
    int o = 0;
    int mlp_norm = 0;
    int gate = 0;
    int up = 0;
    int down = 0;
};

// All parameters of a Llama-family model, in a fixed order. Norms are never cut nor sharded: they
// have no unit and a flat buffer of their own.
struct ParameterTable {
    std::vector<Parameter> all;
    std::vector<LayerParameters> layers;
    int embedding = 0;
    int final_norm = 0;
    int head = 0;  // the embedding itself when tied
    std::vector<Unit> units;
    int embedding_unit = 0;          // the first of its units
    int head_unit = 0;               // likewise
    int vocabulary_blocks = 1;       // units of the embedding, and as many of the head
    std::int64_t unit_elements = 0;  // of all units
    std::int64_t norm_elements = 0;  // of all norms, alignment included

    static constexpr int kNoUnit = -1;
    int layer_unit(int layer) const { return embedding_unit + vocabulary_blocks + layer; }
};
ParameterTable make_parameters(const ModelConfig& model, const WeightShare& share = {});

}  // namespace rm
