// A step must send over every axis the bytes that docs/communication.md states. mesh_test.cc and
// ring_test.cc count the bytes of the ring.
#include <gtest/gtest.h>

#include "engine/comm/collectives.h"
#include "engine/model/activations.h"
#include "engine/model/parameters.h"
#include "tests/support/rank_rig.h"

namespace rm {
namespace {

using Bytes = std::map<std::string, std::int64_t>;

constexpr MessageSpec kCodes{MessageNumbers::fp8, MessageNumbers::fp8};

struct Layout {
    int data = 1;
    int ring = 1;
    int ulysses = 1;
    int tensor = 1;
    int zero = 0;
    int kv_heads = 2;
    std::int64_t micro_batches = 1;
    bool tied = false;
    std::int64_t context = 512;
    std::int64_t block = 0;  // elements of embedding and head that travel together
    int keep_every = 1;
    int layers = 3;
    bool fp8 = false;  // all layers
    MessageSpec messages = {};
};

test::RigConfig config_of(const Layout& l, DType type) {
    test::RigConfig config;
    config.backend = test::cpu_backend(1, type);
    config.mesh = Mesh::make(l.data, l.ring, l.ulysses, l.tensor).value();
    config.model = test::small_model();
    config.model.num_layers = l.layers;
    config.model.num_query_heads = 4;
    config.model.num_kv_heads = l.kv_heads;
    config.model.tied_head = l.tied;
    config.zero = l.zero;
    config.context = l.context;
    config.sequences = l.data * l.micro_batches;
    config.tile = 64;
    config.vocabulary_block = l.block;
    config.memory.keep_every = l.keep_every;
    config.messages = l.messages;
    if (!l.fp8) return config;
    config.linears = {.fp8 = true, .bf16_layers = 0};
    config.model.hidden = 64;
    config.model.head_dim = 16;
    config.model.feed_forward = 96;
    return config;
}

WeightShare share_of(const Layout& l, const Mesh& mesh, int rank) {
    WeightShare share = make_weight_share(mesh, rank, l.zero);
    share.vocabulary_block = l.block;
    return share;
}

// Computes the page's formulas for one rank, with the page's letters.
class Formulas {
public:
    Formulas(const Layout& layout, const test::RigConfig& config, int rank, DType type)
        : l_(layout),
          mesh_(config.mesh),
          rank_(rank),
          c_(size_of(type)),
          w_(layout.fp8 ? 1 : c_),
          table_(make_parameters(config.model, share_of(layout, mesh_, rank))),
          shapes_(config.model, make_rank_layout(config.context, mesh_, rank,
                                                 {.tile_tokens = 64, .chunk_tokens = 64})
                                    .value()),
          L_(config.model.num_layers),
          k_(layout.keep_every) {}

    Bytes per_step() const {
        Bytes bytes;
        ulysses(bytes);
        tensor(bytes);
        parameters(bytes);
        scalars(bytes);
        std::erase_if(bytes, [](const auto& entry) { return entry.second == 0; });
        return bytes;
    }

private:
    static constexpr std::int64_t kScalar = 8;  // f64

    int group_size(GroupKey key) const { return make_group(mesh_, rank_, key).size(); }
    // all_reduce_sum of n elements
    std::int64_t all_reduce(GroupKey key, std::int64_t n, std::int64_t e) const {
        const Group group = make_group(mesh_, rank_, key);
        if (group.size() == 1) return 0;
        const auto p = [&](int j) { return part_of(n, group.size(), j % group.size()).count; };
        return (2 * n - p(group.index) - p(group.index + 1)) * e;
    }
    // A row of n numbers of e bytes: as it is, or a byte each, whole words, and a float.
    static std::int64_t row(MessageNumbers numbers, std::int64_t n, std::int64_t e) {
        return numbers == MessageNumbers::compute ? n * e : (n + 3) / 4 * 4 + 4;
    }
    // (G-1)/G n
    std::int64_t z(std::int64_t n) const { return n / Z() * (Z() - 1); }
    std::int64_t Z() const { return group_size(GroupKey::gradient); }

    // Groups of layers that the backward pass runs again.
    std::int64_t repeated_groups() const { return (L_ + k_ - 1) / k_ - 1; }
    std::int64_t repeated_layers() const { return k_ == 1 ? 0 : repeated_groups() * k_; }

    void ulysses(Bytes& bytes) const {
        const std::int64_t head = row(l_.messages.ulysses, shapes_.D, c_);
        const std::int64_t sum = row(l_.messages.ulysses, shapes_.D, a_);
        const std::int64_t q = shapes_.attended_q, kv = shapes_.attended_kv;
        const std::int64_t forward = (2 * q + 2 * kv) * head;
        const std::int64_t backward = 2 * q * head + q * a_ + 2 * kv * sum;
        bytes["ulysses all_to_all"] = l_.micro_batches * (l_.ulysses - 1) * shapes_.T *
                                      (L_ * (forward + backward) + repeated_layers() * forward);
    }

    void tensor(Bytes& bytes) const {
        const std::int64_t P = l_.tensor;
        const std::int64_t tokens = shapes_.T / P * (P - 1), x = tokens * shapes_.C * c_;
        const std::int64_t in_layers = tokens * row(l_.messages.tensor, shapes_.C, c_);
        const std::int64_t V = table_.vocabulary_blocks;
        const std::int64_t normed = V == 1 ? 1 : 2 * V, looked_up = l_.zero == 3 ? V : 1;
        bytes["tensor all_gather"] =
            l_.micro_batches * ((L_ * 6 + 2 * repeated_layers()) * in_layers + (V + normed) * x +
                                V * (P - 1) * shapes_.T * 24);
        const std::int64_t again = k_ == 1 ? 0 : repeated_groups() * (2 * k_ - 1);
        bytes["tensor all_to_all"] = l_.micro_batches * (L_ * 4 + again + V + looked_up) * x;
        for (const Parameter& p : table_.all) {
            if (p.unit == ParameterTable::kNoUnit || p.cut != Cut::none || P == 1) continue;
            RM_CHECK(l_.zero == 0, "the parts of replicated heads are not counted here");
            bytes["tensor all_reduce_sum"] += all_reduce(GroupKey::tensor, p.part_elements(), a_);
        }
    }

    // z(n), summed over `count` units from `first` on.
    std::int64_t z_of_units(int first, int count) const {
        std::int64_t sum = 0;
        for (int unit = first; unit < first + count; ++unit)
            sum += z(table_.units[static_cast<std::size_t>(unit)].num_elements);
        return sum;
    }

    void parameters(Bytes& bytes) const {
        const std::int64_t M = l_.micro_batches;
        const int V = table_.vocabulary_blocks;
        const std::int64_t all = z_of_units(0, static_cast<int>(table_.units.size()));
        const std::int64_t embedding = z_of_units(table_.embedding_unit, V);
        const std::int64_t twice = l_.tied && V > 1 ? embedding : 0;
        if (l_.zero == 0) bytes["gradient all_reduce_sum"] += 2 * all * a_;
        if (l_.zero == 1) bytes["gradient reduce_scatter_sum"] += all * a_;
        if (l_.zero >= 2) bytes["gradient reduce_scatter_sum"] += M * (all + twice) * a_;
        const std::int64_t layers = z_of_units(table_.layer_unit(0), static_cast<int>(L_));
        if (l_.zero == 1 || l_.zero == 2)
            bytes["gradient all_gather"] += (all - layers) * c_ + layers * w_;
        if (l_.zero == 3) gathers(bytes);
        if (l_.fp8 && l_.zero > 0) bytes["gradient all_gather"] += (Z() - 1) * 7 * L_ * 4;
        bytes["world all_reduce_sum"] += all_reduce(GroupKey::world, table_.norm_elements, a_);
    }
    void gathers(Bytes& bytes) const {
        const std::int64_t M = l_.micro_batches;
        const int V = table_.vocabulary_blocks;
        const std::int64_t again = k_ == 1 ? 0 : M * repeated_groups() * (k_ - 2);
        const std::int64_t layers = (V == 1 ? 2 * M * L_ - 2 * M + 1 : 2 * M * L_) + again;
        const int heads = V == 1 ? 0 : V - 2;  // blocks of the head, again
        bytes["gradient all_gather"] +=
            w_ * layers * z_of_units(table_.layer_unit(0), 1) +
            c_ * (M * z_of_units(table_.embedding_unit, V) + M * z_of_units(table_.head_unit, V) +
                  M * z_of_units(table_.head_unit, heads));
    }

    // Adds the loss, the wish to stop, the executed operations and the gradient's norm.
    void scalars(Bytes& bytes) const {
        bytes["gradient all_reduce_sum"] += all_reduce(GroupKey::gradient, 1, kScalar);
        bytes["world all_reduce_sum"] += 3 * all_reduce(GroupKey::world, 1, kScalar);
        if (l_.fp8)
            bytes["world all_reduce_sum"] += all_reduce(GroupKey::world, 11 * 6 * L_, kScalar);
    }

    const Layout l_;
    const Mesh mesh_;
    const int rank_;
    const std::int64_t c_;
    const std::int64_t w_;  // of a layer's weights that travel
    const std::int64_t a_ = 4;
    const ParameterTable table_;
    const RankShapes shapes_;
    const std::int64_t L_;
    const std::int64_t k_;
};

Bytes without_ring(Bytes bytes) {
    std::erase_if(bytes, [](const auto& entry) { return entry.first.starts_with("ring"); });
    return bytes;
}

Bytes difference(const Bytes& more, const Bytes& less) {
    Bytes result;
    for (const auto& [name, bytes] : more)
        result[name] = bytes - (less.contains(name) ? less.at(name) : 0);
    return result;
}

class StepBytes : public testing::TestWithParam<std::tuple<Layout, DType>> {};

// Compares the bytes of the second step: the first also includes the gathers at the start.
TEST_P(StepBytes, EqualTheDocumentedFormulas) {
    const auto& [layout, type] = GetParam();
    test::RigConfig config = config_of(layout, type);
    config.steps = 1;
    const test::RigResult one = run_rig(config);
    config.steps = 2;
    const test::RigResult two = run_rig(config);
    for (int rank = 0; rank < config.mesh.num_ranks(); ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        EXPECT_EQ(without_ring(difference(two.bytes[i], one.bytes[i])),
                  Formulas(layout, config, rank, type).per_step())
            << "rank " << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, StepBytes,
    testing::Combine(
        testing::Values(
            Layout{.data = 2}, Layout{.data = 3, .zero = 1}, Layout{.ulysses = 2},
            Layout{.ulysses = 4, .kv_heads = 1}, Layout{.tensor = 2},
            Layout{.tensor = 4, .kv_heads = 1}, Layout{.data = 2, .zero = 1},
            Layout{.data = 2, .zero = 2, .micro_batches = 2},
            Layout{.data = 2, .zero = 3, .micro_batches = 3},
            Layout{.ring = 2, .zero = 3, .tied = true},
            Layout{.data = 2, .tensor = 2, .zero = 2, .micro_batches = 2, .tied = true},
            Layout{.data = 2, .ring = 2, .ulysses = 2, .tensor = 2, .zero = 3},
            // Blocks of 16 rows: four without a tensor group, two with one.
            Layout{.data = 2, .zero = 2, .micro_batches = 2, .block = 512},
            Layout{.data = 2, .zero = 3, .micro_batches = 3, .block = 512},
            Layout{.ring = 2, .zero = 3, .micro_batches = 2, .tied = true, .block = 512},
            Layout{.data = 2, .tensor = 2, .zero = 2, .block = 512},
            Layout{
                .data = 2, .ulysses = 2, .tensor = 2, .zero = 3, .micro_batches = 2, .block = 512},
            // Weights as codes.
            Layout{.data = 2, .fp8 = true}, Layout{.data = 3, .zero = 1, .fp8 = true},
            Layout{.data = 2, .tensor = 2, .zero = 2, .micro_batches = 2, .fp8 = true},
            Layout{.ring = 2, .zero = 3, .micro_batches = 2, .fp8 = true},
            Layout{.data = 2, .tensor = 2, .zero = 3, .fp8 = true},
            // Messages as codes.
            Layout{.ulysses = 4, .kv_heads = 1, .messages = kCodes},
            Layout{.tensor = 2, .messages = kCodes},
            Layout{.ring = 2,
                   .ulysses = 2,
                   .tensor = 2,
                   .keep_every = 3,
                   .layers = 7,
                   .messages = kCodes},
            // Inputs of every k-th layer.
            Layout{.data = 2, .zero = 3, .micro_batches = 2, .keep_every = 2, .layers = 5},
            Layout{.ulysses = 2, .tensor = 2, .keep_every = 3, .layers = 7},
            Layout{.data = 2, .zero = 3, .block = 512, .keep_every = 3, .layers = 8}),
        testing::Values(DType::f32, DType::bf16)),
    [](const auto& info) {
        const Layout& l = std::get<0>(info.param);
        return format("D{}R{}U{}T{}Zero{}Hk{}M{}{}{}{}{}{}{}", l.data, l.ring, l.ulysses, l.tensor,
                      l.zero, l.kv_heads, l.micro_batches, l.tied ? "Tied" : "",
                      l.block > 0 ? "Blocks" : "", l.fp8 ? "Fp8" : "",
                      l.messages == kCodes ? "Codes" : "",
                      l.keep_every > 1 ? format("Every{}", l.keep_every) : "",
                      to_string(std::get<1>(info.param)));
    });

}  // namespace
}  // namespace rm
