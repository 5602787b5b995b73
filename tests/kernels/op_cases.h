#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/kernels/harness.h"

namespace rm::test {

// One op, or a forward and backward pair, with sizes; `run` queues it and keeps its outputs.
struct OpCase {
    std::string name;
    std::function<void(Harness&)> run;
    std::int64_t head_dim = 0;  // of attention; not every implementation takes every one
};
inline std::ostream& operator<<(std::ostream& out, const OpCase& op_case) {
    return out << op_case.name;
}

// Every op at several sizes, odd ones included.
std::vector<OpCase> all_op_cases();

std::vector<OpCase> linear_cases();
std::vector<OpCase> fp8_cases();                // casts and products in FP8
std::vector<OpCase> token_cases();              // norm, rotary, SwiGLU, embedding
std::vector<OpCase> attention_cases();          // causal, documents, zigzag, padding, GQA
std::vector<OpCase> extreme_attention_cases();  // scores whose exp is out of range
std::vector<OpCase> attention_8bit_cases();     // likewise, and keys with offsets and outliers
std::vector<OpCase> loss_cases();
std::vector<OpCase> update_cases();  // fill, copy, add, sum of squares, clip, AdamW
std::vector<OpCase> cut_cases();     // heads and vocabularies cut over ranks, sums of parts

// Bodies of cases, for suites with their own sizes.
void rmsnorm_both_ways(Harness& h, std::int64_t T, std::int64_t C);
void embedding_both_ways(Harness& h, std::int64_t T, std::int64_t V, std::int64_t C);
void loss_and_gradients(Harness& h, std::int64_t T, std::int64_t C, std::int64_t V);
void embedding_in_parts(Harness& h, std::int64_t T, std::int64_t V, std::int64_t C, std::int64_t G);
void head_in_parts(Harness& h, std::int64_t T, std::int64_t C, std::int64_t V, std::int64_t G);
void heads_copied(Harness& h, std::int64_t T, std::int64_t D);
void parts_summed(Harness& h, std::int64_t G, std::int64_t size);

// The rows of a vocabulary of V that rank `g` of G holds; the first V % G ranks have one more.
struct CutRows {
    std::int64_t first = 0, count = 0;
};
CutRows cut_rows(std::int64_t V, std::int64_t G, std::int64_t g);

Outputs run_case(const OpCase& op_case, Kernels& kernels, std::uint64_t seed,
                 DType precision = DType::f32);

}  // namespace rm::test
