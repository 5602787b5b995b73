#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/memory/arena_csv.h"
#include "engine/memory/arena_planner.h"
#include "engine/memory/arena_validator.h"

// An accepted trace can be planned, and reads the same after it is written, except for the offsets.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    const auto named = parse_arena_csv("t", {reinterpret_cast<const char*>(data), size});
    if (!named) return 0;
    if (!check_trace(named->trace)) abort();
    const auto result = plan_arena(named->trace, {.timeout = Seconds{0.001}}, SystemClock());
    if (!result || !validate_arena(named->trace, result->plan)) abort();
    const std::string written = write_arena_csv(*named, result->plan);
    if (parse_arena_csv("t", written)) abort();  // a trace has no column `offset`
    return 0;
}
