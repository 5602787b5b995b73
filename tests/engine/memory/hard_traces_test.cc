// Plans public instances for which greedy placement needs 12 to 41 % more than their capacity, and
// instances that are cut out of a full arena.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "engine/memory/arena_csv.h"
#include "engine/memory/arena_planner.h"
#include "engine/memory/arena_validator.h"
#include "tests/engine/memory/hard_cases.h"

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

struct Generated {
    std::string name;
    ArenaTrace (*make)(Rng&, int, std::int64_t);
    int count = 0;
    std::uint64_t seed = 0;
};
void PrintTo(const Generated& c, std::ostream* out) {
    *out << c.name;
}

class GeneratedTraces : public testing::TestWithParam<Generated> {};

TEST_P(GeneratedTraces, ArePlacedInTheArenaThatTheyWereCutFrom) {
    Rng rng(GetParam().seed);
    const ArenaTrace trace = GetParam().make(rng, GetParam().count, kCapacity.value);
    const SystemClock clock;
    const MonoTime started = clock.mono();
    const ArenaResult result =
        plan_arena(trace, {.num_threads = 1, .timeout = Seconds{20}}, clock).value();
    std::cout << format(
        "{}: {} blocks, peak / bound {:.4}, {}\n", GetParam().name, trace.blocks.size(),
        static_cast<double>(result.plan.peak.value) / static_cast<double>(result.lower_bound.value),
        clock.mono() - started);
    EXPECT_EQ(result.lower_bound, kCapacity);
    EXPECT_TRUE(validate_arena(trace, result.plan).ok());
    EXPECT_LE(result.plan.peak.value, 1.2 * static_cast<double>(kCapacity.value));
}

INSTANTIATE_TEST_SUITE_P(Hard, GeneratedTraces,
                         testing::Values(Generated{"guillotine1", test::guillotine_trace, 300, 1},
                                         Generated{"guillotine2", test::guillotine_trace, 300, 2},
                                         Generated{"guillotine3", test::guillotine_trace, 300, 3},
                                         Generated{"tight1", test::tight_trace, 300, 1},
                                         Generated{"tight2", test::tight_trace, 300, 2},
                                         Generated{"sawtooth1", test::sawtooth_trace, 200, 1},
                                         Generated{"sawtooth2", test::sawtooth_trace, 200, 2}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm
