#include <charconv>

#include "worker/dir/files.h"
#include "worker/inventory/inventory.h"
#include "worker/inventory/key_value.h"

namespace rm {

Bytes machine_memory() {
    const Result<std::string> text = read_text_file("/proc/meminfo");
    return text ? parse_total_memory(*text) : Bytes{};
}

Bytes parse_total_memory(std::string_view meminfo) {
    const std::string_view value = value_of(meminfo, "MemTotal", ':');  // "24601234 kB"
    std::int64_t kib = 0;
    std::from_chars(value.data(), value.data() + value.size(), kib);
    return Bytes{kib * 1024};
}

}  // namespace rm
