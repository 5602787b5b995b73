#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/text.h"
#include "worker/dir/files.h"
#include "worker/inventory/inventory.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

// "max", and the number that version 1 gives for no limit, count as no limit.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

std::int64_t limit_in(const fs::path& file) {
    const Result<std::string> text = read_text_file(file.string());
    std::int64_t limit = kNoLimit;
    if (text) std::from_chars(text->data(), text->data() + text->size(), limit);
    return limit;
}

// The path of the group that accounts for memory: "0::/a/b" of version 2, "7:memory:/a/b" of 1.
struct Group {
    std::string_view path;
    bool unified = true;
};
Group group_of(std::string_view cgroup) {
    Group group;
    for (const std::string_view line : split(cgroup, '\n')) {
        const std::size_t slash = line.find(":/");
        if (slash != std::string_view::npos && line.starts_with("0::")) {
            group.path = line.substr(slash + 1);
        } else if (slash != std::string_view::npos &&
                   line.find(":memory:") != std::string_view::npos) {
            return {line.substr(slash + 1), false};
        }
    }
    return group;
}

Bytes parse_line(std::string_view meminfo, std::string_view key) {
    const std::string_view value = value_of(meminfo, key, ':');  // "24601234 kB"
    std::int64_t kib = 0;
    std::from_chars(value.data(), value.data() + value.size(), kib);
    return Bytes{kib * 1024};
}

std::string meminfo() {
    const Result<std::string> text = read_text_file("/proc/meminfo");
    return text ? *text : "";
}

}  // namespace

Bytes machine_memory() {
    return parse_total_memory(meminfo());
}

Bytes parse_total_memory(std::string_view meminfo) {
    return parse_line(meminfo, "MemTotal");
}

Bytes available_memory() {
    return parse_available_memory(meminfo());
}

Bytes parse_available_memory(std::string_view meminfo) {
    return parse_line(meminfo, "MemAvailable");
}

Bytes control_group_memory() {
    const Result<std::string> text = read_text_file("/proc/self/cgroup");
    return text ? control_group_memory(*text, "/sys/fs/cgroup") : Bytes{};
}

Bytes control_group_memory(std::string_view cgroup, const std::string& root) {
    const Group group = group_of(cgroup);
    const fs::path top = group.unified ? fs::path(root) : fs::path(root) / "memory";
    const char* const file = group.unified ? "memory.max" : "memory.limit_in_bytes";
    std::int64_t least = limit_in(top / file);
    fs::path at = top;
    // A namespace may hide the ancestors of the group: then the visible part has the limit.
    for (const fs::path& part : fs::path(group.path).relative_path()) {
        at /= part;
        least = std::min(least, limit_in(at / file));
    }
    return {least < kNoLimit / 2 ? least : 0};
}

Bytes memory_for_ranks(Bytes machine) {
    constexpr std::int64_t kLeast = std::int64_t{512} << 20, kMost = std::int64_t{4} << 30;
    const std::int64_t reserve = std::clamp(machine.value / 16, kLeast, kMost);
    // A machine this small only occurs in tests.
    return {std::max(machine.value - reserve, machine.value / 2)};
}

}  // namespace rm
