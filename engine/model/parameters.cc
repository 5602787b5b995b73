#include "engine/model/parameters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.h"

namespace rm {
namespace {

std::int64_t align(std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
    std::int64_t elements = 1;
    for (const std::int64_t size : shape)
        elements *= size;
    return elements;
}

class Builder {
public:
    explicit Builder(const WeightShare& share) : share_(share) {}

    void begin_unit(std::string name) {
        table_.units.push_back({std::move(name), {}, 0, table_.unit_elements});
    }
    void end_unit() {
        Unit& unit = table_.units.back();
        unit.num_elements = align(unit.num_elements, kParameterAlign * share_.zero_size);
        table_.unit_elements += unit.num_elements;
    }
    int add(std::string name, ParameterKind kind, std::vector<std::int64_t> shape, double init_std,
            Cut cut) {
        Parameter p = make(std::move(name), kind, std::move(shape), init_std, cut);
        place(p);
        return append(std::move(p));
    }
    // An embedding or a head in units of its own, `block_rows` rows each.
    int add_by_rows(std::string name, ParameterKind kind, std::vector<std::int64_t> shape,
                    double init_std, std::int64_t block_rows) {
        Parameter p = make(std::move(name), kind, std::move(shape), init_std, Cut::rows);
        p.unit = static_cast<int>(table_.units.size());
        p.block_rows = block_rows;
        p.num_units = static_cast<int>(ceil_div(p.part_shape[0], block_rows));
        const char* what = kind == ParameterKind::head ? "head" : "embedding";
        for (int block = 0; block < p.num_units; ++block) {
            begin_unit(p.num_units == 1 ? what : format("{} {}", what, block));
            table_.units.back().num_elements = p.block_elements(block).count;
            table_.units.back().parameters = {static_cast<int>(table_.all.size())};
            end_unit();
        }
        return append(std::move(p));
    }
    int linear(const std::string& name, std::int64_t out, std::int64_t in, double gain, Cut cut) {
        return add(name, ParameterKind::linear, {out, in},
                   gain / std::sqrt(static_cast<double>(in)), cut);
    }
    int norm(const std::string& name, std::int64_t size) {
        return add(name, ParameterKind::norm, {size}, 0, Cut::none);
    }
    ParameterTable& table() { return table_; }

private:
    Parameter make(std::string name, ParameterKind kind, std::vector<std::int64_t> shape,
                   double init_std, Cut cut) const {
        Parameter p{.name = std::move(name), .kind = kind, .shape = std::move(shape)};
        p.init_std = init_std;
        p.cut = cut;
        cut_part(p);
        return p;
    }
    int append(Parameter p) {
        table_.all.push_back(std::move(p));
        return static_cast<int>(table_.all.size()) - 1;
    }
    void cut_part(Parameter& p) const {
        p.part_shape = p.shape;
        if (p.cut == Cut::none) return;
        const std::size_t dim = p.cut == Cut::rows ? 0 : 1;
        const Part part = part_of(p.shape[dim], share_.tensor, share_.tensor_index);
        p.part_start = part.first;
        p.part_shape[dim] = part.count;
    }
    void place(Parameter& p) {
        const std::int64_t size = align(p.part_elements(), kParameterAlign);
        if (p.kind == ParameterKind::norm) {
            p.unit = ParameterTable::kNoUnit;
            p.first = table_.norm_elements;
            table_.norm_elements += size;
            return;
        }
        Unit& unit = table_.units.back();
        p.unit = static_cast<int>(table_.units.size()) - 1;
        p.first = unit.num_elements;
        unit.num_elements += size;
        unit.parameters.push_back(static_cast<int>(table_.all.size()));
    }

    WeightShare share_;
    ParameterTable table_;
};

LayerParameters add_layer(Builder& builder, const ModelConfig& m, std::int64_t layer,
                          const WeightShare& share) {
    // Key-value heads that do not divide over the tensor ranks are replicated: all rows on each.
    const Cut kv_cut = m.num_kv_heads % share.tensor == 0 ? Cut::rows : Cut::none;
    const std::string prefix = format("model.layers.{}.", layer);
    const std::int64_t q_size = m.num_query_heads * m.head_dim;
    const std::int64_t kv_size = m.num_kv_heads * m.head_dim;
    // Weights that add to the residual stream start smaller the more layers there are (GPT-2).
    const double residual = 1 / std::sqrt(2.0 * static_cast<double>(m.num_layers));
    const auto linear = [&](const char* name, std::int64_t out, std::int64_t in, double gain,
                            Cut cut) { return builder.linear(prefix + name, out, in, gain, cut); };
    LayerParameters p;
    builder.begin_unit(format("layer {}", layer));
    p.attention_norm = builder.norm(prefix + "input_layernorm.weight", m.hidden);
    p.q = linear("self_attn.q_proj.weight", q_size, m.hidden, 1, Cut::rows);
    p.k = linear("self_attn.k_proj.weight", kv_size, m.hidden, 1, kv_cut);
    p.v = linear("self_attn.v_proj.weight", kv_size, m.hidden, 1, kv_cut);
    p.o = linear("self_attn.o_proj.weight", m.hidden, q_size, residual, Cut::columns);
    p.mlp_norm = builder.norm(prefix + "post_attention_layernorm.weight", m.hidden);
    p.gate = linear("mlp.gate_proj.weight", m.feed_forward, m.hidden, 1, Cut::rows);
    p.up = linear("mlp.up_proj.weight", m.feed_forward, m.hidden, 1, Cut::rows);
    p.down = linear("mlp.down_proj.weight", m.hidden, m.feed_forward, residual, Cut::columns);
    builder.end_unit();
    return p;
}

std::int64_t layer_elements(const ModelConfig& model, const WeightShare& share) {
    Builder builder(share);
    add_layer(builder, model, 0, share);
    return builder.table().unit_elements;
}

// A block has a multiple of these rows: no padding is between blocks, and long blocks suit
// products.
std::int64_t multiple_of_rows(const ModelConfig& m, const WeightShare& share, std::int64_t limit) {
    constexpr std::int64_t kLong = 1024, kProduct = 64;
    const std::int64_t elements = kParameterAlign * share.zero_size;
    const std::int64_t rows = elements / std::gcd(elements, m.hidden);
    return limit / m.hidden < kLong ? rows : std::lcm(rows, kProduct);
}

// Rows of the embedding's and the head's units: all that a rank has where it holds gradients whole,
// else as many as a block may have. The ranks of a tensor group have the same number of blocks, and
// these are nearly equal.
std::int64_t vocabulary_block_rows(const ModelConfig& m, const WeightShare& share) {
    const std::int64_t most = part_of(m.vocabulary, share.tensor, 0).count;
    const std::int64_t least = part_of(m.vocabulary, share.tensor, share.tensor - 1).count;
    const std::int64_t limit =
        share.vocabulary_block > 0 ? share.vocabulary_block : layer_elements(m, share);
    if (share.stage < 2 || most * m.hidden <= limit) return most;
    const std::int64_t step = multiple_of_rows(m, share, limit);
    const std::int64_t longest = std::max(step, limit / m.hidden / step * step);
    std::int64_t rows = align(ceil_div(most, ceil_div(most, longest)), step);
    while (rows * (ceil_div(most, rows) - 1) >= least)
        rows += step;
    return rows;
}

}  // namespace

WeightShare make_weight_share(const Mesh& mesh, int rank, int stage) {
    const std::vector<int> group = mesh.group(rank, {Axis::data, Axis::ring, Axis::ulysses});
    WeightShare share;
    share.tensor = mesh.size(Axis::tensor);
    share.tensor_index = mesh.coord(rank, Axis::tensor);
    share.zero_size = static_cast<int>(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i] == rank) share.zero_index = static_cast<int>(i);
    }
    share.stage = stage;
    share.world_size = mesh.num_ranks();
    share.world_rank = rank;
    return share;
}

std::int64_t Parameter::num_elements() const {
    return product(shape);
}

std::int64_t Parameter::part_elements() const {
    return product(part_shape);
}

Part Parameter::rows_of_block(int block) const {
    const std::int64_t rows = part_shape[0];
    if (block_rows == 0) return {0, rows};
    const std::int64_t first = block * block_rows;
    return {first, std::min(block_rows, rows - first)};
}

Part Parameter::block_elements(int block) const {
    const std::int64_t row = part_elements() / part_shape[0];
    const Part rows = rows_of_block(block);
    return {rows.first * row, rows.count * row};
}

std::int64_t Parameter::whole_index(std::int64_t i) const {
    switch (cut) {
        case Cut::none:
            return i;
        case Cut::rows:
            return part_start * shape[1] + i;
        case Cut::columns:
            return i / part_shape[1] * shape[1] + part_start + i % part_shape[1];
    }
    return i;
}

ParameterTable make_parameters(const ModelConfig& m, const WeightShare& share) {
    constexpr double kEmbeddingStd = 0.02;
    const std::int64_t block_rows = vocabulary_block_rows(m, share);
    Builder builder(share);
    ParameterTable& table = builder.table();
    const auto by_rows = [&](const char* name, ParameterKind kind) {
        return builder.add_by_rows(name, kind, {m.vocabulary, m.hidden}, kEmbeddingStd, block_rows);
    };
    table.embedding = by_rows("model.embed_tokens.weight", ParameterKind::embedding);
    for (std::int64_t layer = 0; layer < m.num_layers; ++layer) {
        const LayerParameters parameters = add_layer(builder, m, layer, share);
        table.layers.push_back(parameters);
    }
    table.final_norm = builder.norm("model.norm.weight", m.hidden);
    table.head = m.tied_head ? table.embedding : by_rows("lm_head.weight", ParameterKind::head);
    table.vocabulary_blocks = table.all[usize(table.embedding)].num_units;
    table.head_unit = table.all[usize(table.head)].unit;
    return std::move(table);
}

}  // namespace rm
