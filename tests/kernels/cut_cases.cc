#include <algorithm>
#include <cmath>

#include "tests/kernels/op_cases.h"

namespace rm::test {

CutRows cut_rows(std::int64_t V, std::int64_t G, std::int64_t g) {
    const std::int64_t each = V / G, more = V % G;
    return {g * each + std::min(g, more), each + (g < more ? 1 : 0)};
}

void embedding_in_parts(Harness& h, std::int64_t T, std::int64_t V, std::int64_t C,
                        std::int64_t G) {
    const TensorView tokens = h.tokens(T, V), table = h.input(Role::compute, {V, C});
    const TensorView d_x = h.input(Role::compute, {T, C}), d_table = h.input(Role::accum, {V, C});
    for (std::int64_t g = 0; g < G; ++g) {
        const CutRows part = cut_rows(V, G, g);
        const RowShare rows{part.first, V};
        const TensorView x = h.output(Role::compute, {T, C});
        h.kernels().run(EmbeddingFwd{.tokens = tokens,
                                     .table = table.rows(part.first, part.count),
                                     .x = x,
                                     .rows = rows},
                        h.stream());
        h.kernels().run(EmbeddingBwd{.tokens = tokens,
                                     .d_x = d_x,
                                     .d_table = d_table.rows(part.first, part.count),
                                     .rows = rows},
                        h.stream());
        h.keep(format("x_of_part_{}", g), x);
    }
    h.keep("d_table", d_table);
}

void head_in_parts(Harness& h, std::int64_t T, std::int64_t C, std::int64_t V, std::int64_t G) {
    const double deviation = 1 / std::sqrt(static_cast<double>(C));
    const TensorView weight = h.input(Role::master, {V, C}, deviation);
    const TensorView x = h.input(Role::compute, {T, C}, 3);
    const TensorView targets = h.tokens(T, V, kIgnoreTarget);
    const TensorView d_head = h.input(Role::accum, {V, C}, 1e-2);
    const TensorView statistics = h.output(Role::f64, {G * T, 3});
    const TensorView lse = h.output(Role::f64, {T}), losses = h.output(Role::f64, {T});
    const TensorView loss_sum = h.filled(Role::f64, {1}, 0);
    const TensorView d_x_parts = h.output(Role::compute, {G * T, C});
    const TensorView d_x = h.output(Role::compute, {T, C});
    std::vector<const PreparedWeight*> heads;
    for (std::int64_t g = 0; g < G; ++g) {
        const CutRows part = cut_rows(V, G, g);
        heads.push_back(&h.prepared(weight.rows(part.first, part.count)));
        const HeadStatistics op{.x = x,
                                .head = heads.back(),
                                .targets = targets,
                                .rows = {part.first, V},
                                .statistics = statistics.rows(g * T, T)};
        h.kernels().run(op, h.workspace(op), h.stream());
    }
    h.kernels().run(CombineHeadStatistics{.parts = statistics.reshaped({G, T, 3}),
                                          .targets = targets,
                                          .lse = lse,
                                          .losses = losses,
                                          .loss_sum = loss_sum},
                    h.stream());
    for (std::int64_t g = 0; g < G; ++g) {
        const CutRows part = cut_rows(V, G, g);
        const HeadBwd op{.x = x,
                         .head = heads[static_cast<std::size_t>(g)],
                         .targets = targets,
                         .rows = {part.first, V},
                         .lse = lse,
                         .scale = 1.0 / 77,
                         .d_x = d_x_parts.rows(g * T, T),
                         .d_head = d_head.rows(part.first, part.count)};
        h.kernels().run(op, h.workspace(op), h.stream());
    }
    h.kernels().run(SumParts{.parts = d_x_parts.reshaped({G, T, C}), .y = d_x}, h.stream());
    if (3 * G * T >= 256) h.keep("statistics", statistics);
    if (T >= 256) h.keep("lse", lse);
    if (T >= 256) h.keep("losses", losses);
    h.keep("d_x", d_x);
    h.keep("d_head", d_head);
}

// Copies heads between every pair of types, overwriting and adding.
void heads_copied(Harness& h, std::int64_t T, std::int64_t D) {
    constexpr std::int64_t kFrom = 7, kTo = 5;
    for (const Role from : {Role::compute, Role::accum}) {
        for (const Role to : {Role::compute, Role::accum}) {
            for (const Into into : {Into::overwrite, Into::add}) {
                const CopyHeads op{.from = h.input(from, {T, kFrom, D}),
                                   .to = h.input(to, {T, kTo, D}),
                                   .from_first = 2,
                                   .to_first = 1,
                                   .count = 3,
                                   .into = into};
                h.kernels().run(op, h.stream());
                const auto name = [](Role role) {
                    return role == Role::compute ? "compute" : "accum";
                };
                h.keep(
                    format("{}_{}_{}", name(from), into == Into::add ? "added_to" : "to", name(to)),
                    op.to);
            }
        }
    }
}

void parts_summed(Harness& h, std::int64_t G, std::int64_t size) {
    for (const Role role : {Role::compute, Role::accum}) {
        const std::string type = role == Role::compute ? "compute" : "accum";
        const TensorView parts = h.input(role, {G, size});
        const TensorView y = h.output(role, {size}), sum = h.input(role, {size});
        h.kernels().run(SumParts{.parts = parts, .y = y}, h.stream());
        h.kernels().run(SumParts{.parts = parts, .y = sum, .into = Into::add}, h.stream());
        h.keep(type + "_overwritten", y);
        h.keep(type + "_added_to", sum);
    }
}

std::vector<OpCase> cut_cases() {
    return {
        {"embedding_in_2_parts", [](Harness& h) { embedding_in_parts(h, 100, 19, 40, 2); }},
        {"embedding_in_uneven_parts", [](Harness& h) { embedding_in_parts(h, 90, 61, 33, 4); }},
        {"head_in_1_part", [](Harness& h) { head_in_parts(h, 256, 40, 101, 1); }},
        {"head_in_2_parts", [](Harness& h) { head_in_parts(h, 130, 16, 64, 2); }},
        {"head_in_3_uneven_parts", [](Harness& h) { head_in_parts(h, 67, 24, 61, 3); }},
        {"head_in_4_uneven_parts", [](Harness& h) { head_in_parts(h, 65, 33, 61, 4); }},
        {"heads_copied", [](Harness& h) { heads_copied(h, 37, 16); }},
        {"heads_of_odd_dims_copied", [](Harness& h) { heads_copied(h, 41, 5); }},
        {"heads_of_one_number_copied", [](Harness& h) { heads_copied(h, 301, 1); }},
        {"one_part_summed", [](Harness& h) { parts_summed(h, 1, 1003); }},
        {"five_parts_summed", [](Harness& h) { parts_summed(h, 5, 2049); }},
    };
}

}  // namespace rm::test
