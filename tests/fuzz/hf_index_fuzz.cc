#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/hf/config.h"

// An accepted index names only files of its own directory, and survives being written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    const auto map = parse_hf_index({reinterpret_cast<const char*>(data), size});
    if (!map) return 0;
    for (const auto& [tensor, file] : *map) {
        if (file.find('/') != std::string::npos || file == "..") abort();
    }
    const auto again = parse_hf_index(encode_hf_index(*map, 0));
    if (!again || *again != *map) abort();
    return 0;
}
