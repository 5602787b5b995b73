#include "engine/model/parameters.h"

#include <cmath>

#include "base/format.h"

namespace rm {
namespace {

class Builder {
public:
    int add(std::string name, ParameterKind kind, std::vector<std::int64_t> shape,
            double init_std) {
        Parameter parameter{std::move(name), kind, std::move(shape), table_.num_elements, init_std};
        const std::int64_t size = parameter.num_elements();
        table_.num_elements += (size + kParameterAlign - 1) / kParameterAlign * kParameterAlign;
        table_.all.push_back(std::move(parameter));
        return static_cast<int>(table_.all.size()) - 1;
    }
    int linear(const std::string& name, std::int64_t out, std::int64_t in, double gain) {
        return add(name, ParameterKind::linear, {out, in},
                   gain / std::sqrt(static_cast<double>(in)));
    }
    int norm(const std::string& name, std::int64_t size) {
        return add(name, ParameterKind::norm, {size}, 0);
    }
    ParameterTable& table() { return table_; }

private:
    ParameterTable table_;
};

LayerParameters add_layer(Builder& builder, const ModelConfig& m, std::int64_t layer) {
    const std::string prefix = format("model.layers.{}.", layer);
    const std::int64_t q_size = m.num_query_heads * m.head_dim;
    const std::int64_t kv_size = m.num_kv_heads * m.head_dim;
    // What is summed into the residual stream starts smaller the more layers add to it (GPT-2).
    const double residual = 1 / std::sqrt(2.0 * static_cast<double>(m.num_layers));
    LayerParameters p;
    p.attention_norm = builder.norm(prefix + "input_layernorm.weight", m.hidden);
    p.q = builder.linear(prefix + "self_attn.q_proj.weight", q_size, m.hidden, 1);
    p.k = builder.linear(prefix + "self_attn.k_proj.weight", kv_size, m.hidden, 1);
    p.v = builder.linear(prefix + "self_attn.v_proj.weight", kv_size, m.hidden, 1);
    p.o = builder.linear(prefix + "self_attn.o_proj.weight", m.hidden, q_size, residual);
    p.mlp_norm = builder.norm(prefix + "post_attention_layernorm.weight", m.hidden);
    p.gate = builder.linear(prefix + "mlp.gate_proj.weight", m.feed_forward, m.hidden, 1);
    p.up = builder.linear(prefix + "mlp.up_proj.weight", m.feed_forward, m.hidden, 1);
    p.down = builder.linear(prefix + "mlp.down_proj.weight", m.hidden, m.feed_forward, residual);
    return p;
}

}  // namespace

std::int64_t Parameter::num_elements() const {
    std::int64_t product = 1;
    for (const std::int64_t size : shape)
        product *= size;
    return product;
}

ParameterTable make_parameters(const ModelConfig& m) {
    constexpr double kEmbeddingStd = 0.02;
    Builder builder;
    ParameterTable& table = builder.table();
    table.embedding = builder.add("model.embed_tokens.weight", ParameterKind::embedding,
                                  {m.vocabulary, m.hidden}, kEmbeddingStd);
    for (std::int64_t layer = 0; layer < m.num_layers; ++layer) {
        const LayerParameters parameters = add_layer(builder, m, layer);
        table.layers.push_back(parameters);
    }
    table.final_norm = builder.norm("model.norm.weight", m.hidden);
    table.head = m.tied_head ? table.embedding
                             : builder.add("lm_head.weight", ParameterKind::head,
                                           {m.vocabulary, m.hidden}, kEmbeddingStd);
    return std::move(table);
}

}  // namespace rm
