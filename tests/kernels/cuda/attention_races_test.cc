#include <gtest/gtest.h>

#include "kernels/emu/emu_kernels.h"
#include "tests/kernels/attention/attention_8bit_problem.h"

// Runs every attention kernel once, small, for the thread sanitizer; a report fails the program.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 5;

void run_attention_of(std::int64_t head_dim, const EmuOptions& options) {
    // Several tiles on both sides, so that every buffer is reused.
    const std::vector<rm::Run> runs = {{0, 0, 140}};
    const OpCase op_case = attention_case("", {{2, 1, head_dim}, runs, {runs}});
    run_case(op_case, *make_emu_kernels(options), kSeed, DType::bf16);
}

void run_attention_8bit_of(std::int64_t head_dim, const EmuOptions& options) {
    const std::vector<rm::Run> runs = {{0, 0, 140}};
    const OpCase op_case = attention_8bit_case("", {{{2, 1, head_dim}, runs, {runs}}});
    run_case(op_case, *make_emu_kernels(options), kSeed, DType::bf16);
}

TEST(AttentionRaces, AreNoneIn8Bits) {
    run_attention_8bit_of(64, {.seed = 1});
    run_attention_8bit_of(128, {.seed = 0});
    run_attention_8bit_of(128, {.seed = 1, .profile = {.num_sms = 1}});
}

TEST(AttentionRaces, AreNoneInWideBlocksAndOrderedGradients) {
    const GpuProfile profile{.num_sms = 1};
    run_attention_of(64, {.seed = 0, .profile = profile});
    run_attention_of(128, {.seed = 1, .profile = profile});
}

TEST(AttentionRaces, AreNoneInNarrowBlocksAndAtomics) {
    run_attention_of(64, {.seed = 1, .reproducible = false});
    run_attention_of(128, {.seed = 0, .reproducible = false});
}

}  // namespace
}  // namespace rm::test
