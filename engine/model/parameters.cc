#include "engine/model/parameters.h"

#include <cmath>

#include "base/format.h"
#include "engine/comm/collectives.h"

namespace rm {
namespace {

std::int64_t align(std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
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
        Parameter p{std::move(name), kind, std::move(shape), init_std, cut, {}, 0, 0, 0};
        cut_part(p);
        place(p);
        table_.all.push_back(std::move(p));
        return static_cast<int>(table_.all.size()) - 1;
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

LayerParameters add_layer(Builder& builder, const ModelConfig& m, std::int64_t layer, Cut kv_cut) {
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
    // Key-value heads that do not divide over the tensor ranks are replicated: all rows on each.
    const Cut kv_cut = m.num_kv_heads % share.tensor == 0 ? Cut::rows : Cut::none;
    Builder builder(share);
    ParameterTable& table = builder.table();
    builder.begin_unit("embedding");
    table.embedding = builder.add("model.embed_tokens.weight", ParameterKind::embedding,
                                  {m.vocabulary, m.hidden}, kEmbeddingStd, Cut::rows);
    builder.end_unit();
    for (std::int64_t layer = 0; layer < m.num_layers; ++layer) {
        const LayerParameters parameters = add_layer(builder, m, layer, kv_cut);
        table.layers.push_back(parameters);
    }
    table.final_norm = builder.norm("model.norm.weight", m.hidden);
    table.head = table.embedding;
    if (!m.tied_head) {
        builder.begin_unit("head");
        table.head = builder.add("lm_head.weight", ParameterKind::head, {m.vocabulary, m.hidden},
                                 kEmbeddingStd, Cut::rows);
        builder.end_unit();
    }
    table.head_unit = table.all[usize(table.head)].unit;
    return std::move(table);
}

}  // namespace rm
