// The planner must meet the lower bound for the requests of the engine's passes, for every model
// size, policy and mesh. `ring-bench arena` measures its speed.
#include "bench/engine/engine_traces.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "engine/memory/arena_planner.h"
#include "tests/support/some_cases.h"

namespace rm::bench {

void PrintTo(const EngineCase& c, std::ostream* out) {
    *out << c.name;
}

namespace {

std::vector<EngineCase> cases() {
    std::vector<EngineCase> all = engine_cases();
    // The large models run the same code with more layers.
    if (test::kSanitized)
        std::erase_if(all, [](const EngineCase& c) { return !c.name.starts_with("test_"); });
    return all;
}

class EngineTraces : public testing::TestWithParam<EngineCase> {};

TEST_P(EngineTraces, HavePlansThatAreProvedLeast) {
    const SystemClock clock;
    for (const EngineTrace& trace : engine_traces(GetParam())) {
        const auto result = plan_arena(trace.pass.trace, {.timeout = Seconds{30}}, clock);
        ASSERT_TRUE(result.ok()) << trace.name << ": " << result.error().message;
        EXPECT_TRUE(result->proved_least())
            << trace.name << ": " << result->plan.peak << " and " << result->bound;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, EngineTraces, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::bench
