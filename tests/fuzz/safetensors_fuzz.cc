#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "engine/checkpoint/safetensors.h"

// The input is a whole file. An accepted header describes exactly its data, and survives being
// written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    const auto first = std::as_bytes(std::span(file.substr(0, kSafetensorsLengthBytes)));
    const auto header_bytes =
        safetensors_header_bytes(first, static_cast<std::int64_t>(file.size()));
    if (!header_bytes) return 0;
    const std::string_view rest = file.substr(kSafetensorsLengthBytes);
    const auto length = static_cast<std::size_t>(*header_bytes);
    const auto data_bytes = static_cast<std::int64_t>(rest.size() - length);
    const auto header = parse_safetensors_header(rest.substr(0, length), data_bytes);
    if (!header) return 0;
    std::int64_t end = 0;
    for (const SafetensorsEntry& entry : header->entries) {
        std::int64_t elements = 1;
        for (const std::int64_t dim : entry.shape)
            elements = dim == 0 || elements == 0 ? 0 : elements * dim;
        if (entry.begin != end || entry.end - entry.begin != elements * size_of(entry.type))
            abort();
        end = entry.end;
    }
    if (end != data_bytes) abort();
    const std::string again = encode_safetensors_header(header->entries, header->metadata);
    const auto parsed =
        parse_safetensors_header(std::string_view(again).substr(kSafetensorsLengthBytes), end);
    if (!parsed || parsed->entries.size() != header->entries.size() ||
        parsed->metadata != header->metadata) {
        abort();
    }
    return 0;
}
