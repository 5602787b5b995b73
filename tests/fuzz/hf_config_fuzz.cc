#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/hf/config.h"

// An accepted config.json has sizes that multiply within 63 bits, and survives an export.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    const auto config = parse_hf_config({reinterpret_cast<const char*>(data), size});
    if (!config) return 0;
    if (config->model.num_parameters() < 1) abort();
    const auto written = make_hf_config(config->model, config->text, "bfloat16");
    const auto again = parse_hf_config(written.dump());
    if (!again || again->model != config->model) abort();
    return 0;
}
