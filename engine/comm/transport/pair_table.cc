#include "engine/comm/transport/pair_table.h"

#include <cstdint>

namespace rm {
namespace {

void append_u32(std::string& out, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
        out.push_back(static_cast<char>((value >> shift) & 0xff));
    }
}

std::uint32_t read_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
        value = (value << 8) | static_cast<unsigned char>(bytes[i]);
    return value;
}

}  // namespace

std::string encode_pair_table(const PairTable& table) {
    std::string blob;
    for (const auto& [peer, address] : table) {
        append_u32(blob, static_cast<std::uint32_t>(peer));
        append_u32(blob, static_cast<std::uint32_t>(address.size()));
        blob += address;
    }
    return blob;
}

Result<PairTable> decode_pair_table(std::string_view blob) {
    PairTable table;
    while (!blob.empty()) {
        if (blob.size() < 8) {
            return invalid_argument("pair table ends within an entry: {} bytes left of at least 8",
                                    blob.size());
        }
        const auto peer = static_cast<int>(read_u32(blob));
        const std::size_t length = read_u32(blob.substr(4));
        blob.remove_prefix(8);
        if (blob.size() < length) {
            return invalid_argument("pair table: peer {} has an address of {} bytes, {} are left",
                                    peer, length, blob.size());
        }
        table[peer] = std::string(blob.substr(0, length));
        blob.remove_prefix(length);
    }
    return table;
}

}  // namespace rm
