// Plans public instances for which greedy placement needs 12 to 41 % more than their capacity, and
// instances that are cut out of a full arena.
#include "bench/engine/hard_traces.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "engine/memory/arena_csv.h"
#include "engine/memory/arena_planner.h"
#include "engine/memory/arena_validator.h"

namespace rm {
namespace {

constexpr Bytes kCapacity{1'048'576};

std::filesystem::path data_dir() {
    const char* named = std::getenv("RM_TEST_DATA");
    return std::filesystem::path(named != nullptr ? named : RM_DEFAULT_TEST_DATA) / "buffer_traces";
}

std::string read(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

class HardTraces : public testing::TestWithParam<const char*> {};

TEST_P(HardTraces, FitTheirCapacity) {
    const std::filesystem::path path = data_dir() / (std::string(GetParam()) + ".1048576.csv");
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not there; RM_TEST_DATA names the folder above buffer_traces";
    }
    const auto named = parse_arena_csv(path.string(), read(path)).value();
    const ArenaOptions options{.num_threads = 2, .timeout = Seconds{60}, .capacity = kCapacity};
    const SystemClock clock;
    const MonoTime started = clock.mono();
    const ArenaResult result = plan_arena(named.trace, options, clock).value();
    std::cout << GetParam() << ": " << named.ids.size() << " blocks, peak "
              << result.plan.peak.value << ", lower bound " << result.lower_bound.value << ", "
              << clock.mono() - started << "\n";
    EXPECT_TRUE(validate_arena(named.trace, result.plan, kCapacity).ok());
}

INSTANTIATE_TEST_SUITE_P(Public, HardTraces, testing::Values("A", "C", "F", "J"),
                         [](const auto& info) { return std::string(info.param); });

// `ring-bench arena --hard` plans more.
TEST(GeneratedTraces, ArePlacedInTheArenaThatTheyWereCutFrom) {
    for (std::uint64_t seed = 1; seed <= 18; ++seed) {
        const HardCase hard = hard_case(seed);
        SCOPED_TRACE(format("{}, seed {}", to_string(hard.kind), seed));
        const ArenaTrace trace = hard_trace(hard);
        const SystemClock clock;
        const MonoTime started = clock.mono();
        const ArenaResult result =
            plan_arena(trace, {.num_threads = 2, .timeout = Seconds{60}}, clock).value();
        std::cout << format("{}: {} blocks, {}\n", to_string(hard.kind), trace.blocks.size(),
                            clock.mono() - started);
        EXPECT_EQ(result.lower_bound, HardArena{}.capacity);
        EXPECT_TRUE(validate_arena(trace, result.plan, kCapacity).ok());
    }
}

}  // namespace
}  // namespace rm
