// Each rank opened the data by itself, and rank 0 alone looked for foreign tokens, while all others
// waited in a collective that gave up after 60 s: text that one node encoded slowly, or 10,000
// files on a busy disk, ended the job before its first step. Here the limit is 0.8 s, and reading
// takes more than three times as long.
#include <chrono>

#include "engine/data/tokens/megatron_writer.h"
#include "tests/support/four_ranks.h"

namespace rm {
namespace {

constexpr Seconds kTimeout{0.8};

class Regress0110 : public test::FourRanks {
protected:
    Regress0110() {
        config_.plan.collective_timeout = kTimeout;
        config_.stop_after_steps = 1;
    }

    void train_while_one_is_slow(int slow_rank) {
        Faults slow({{"data.slow_open", 0}});
        const auto faults_of = [&](int rank) { return rank == slow_rank ? &slow : nullptr; };
        const auto begin = std::chrono::steady_clock::now();
        const auto run = test::run_training_with(faults_of, config_, test::cpu_backend(1));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        EXPECT_EQ(run.steps.size(), 1u);
        EXPECT_GT(took.count(), 3 * kTimeout.value);
    }
};

TEST_F(Regress0110, ARankThatFindsItsFilesSlowlyHoldsNobodyUpForTooLong) {
    for (std::uint64_t seed = 0; seed < 14; ++seed)
        write_file(format("text/{}.txt", seed), test::some_text(seed, 60));
    train_while_one_is_slow(2);
}

TEST_F(Regress0110, NorDoesOneThatReadsItsLinesSlowly) {
    std::string lines;
    for (std::uint64_t seed = 0; seed < 30; ++seed)
        lines += R"({"text": ")" + test::some_text(seed, 60) + "\"}\n";
    write_file("lines/a.jsonl", lines);
    config_.spec.data.sources = {{dir_.file("lines")}};
    config_.spec.data.format = "jsonl";
    train_while_one_is_slow(3);
}

TEST_F(Regress0110, NorDoesRank0WhileItLooksForForeignTokens) {
    constexpr std::size_t kPieces = 30;  // of 65,536 tokens
    auto writer = MegatronWriter::create(dir_.file("set"), 256).value();
    ASSERT_TRUE(writer.add_document(std::vector<TokenId>(kPieces * 65'536, 17)));
    ASSERT_TRUE(writer.finish());
    config_.spec.data.sources = {{dir_.file("set")}};
    config_.spec.data.format = "megatron";
    train_while_one_is_slow(0);
}

}  // namespace
}  // namespace rm
