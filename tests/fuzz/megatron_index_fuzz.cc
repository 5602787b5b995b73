#include <cstdint>
#include <cstdlib>

#include "engine/data/tokens/token_formats.h"

// The input is a whole .idx. An accepted one has consecutive documents, and survives being written
// again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    const auto index = parse_megatron_index(std::as_bytes(std::span(data, size)));
    if (!index) return 0;
    std::vector<std::int64_t> tokens;
    for (std::size_t i = 0; i + 1 < index->begins.size(); ++i) {
        if (index->begins[i + 1] < index->begins[i]) abort();
        tokens.push_back(index->begins[i + 1] - index->begins[i]);
        // The sequences of one document together may be too long for a single one.
        if (tokens.back() > INT32_MAX) return 0;
    }
    if (index->begins.front() != 0) abort();
    const auto again = parse_megatron_index(encode_megatron_index(index->dtype, tokens));
    if (!again || again->begins != index->begins || again->dtype != index->dtype) abort();
    return 0;
}
