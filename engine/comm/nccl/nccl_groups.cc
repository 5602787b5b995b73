#include "engine/comm/nccl/nccl_groups.h"

#include <algorithm>

namespace rm::nccl {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hex_of(const UniqueId& id) {
    std::string text;
    for (const char byte : id.bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += kDigits[value / 16];
        text += kDigits[value % 16];
    }
    return text;
}

UniqueId id_of(const std::string& text) {
    UniqueId id;
    RM_CHECK(text.size() == 2 * sizeof id.bytes, "an id of {} digits", text.size());
    for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
        const std::size_t value = kDigits.find(text[2 * i]) * 16 + kDigits.find(text[2 * i + 1]);
        id.bytes[i] = static_cast<char>(value);
    }
    return id;
}

// A line "<key> <id>" for each group that this rank leads.
std::string made_ids(const Api& api, const std::vector<OwnGroup>& groups) {
    std::string lines;
    for (const auto& [key, group, unused] : groups) {
        if (group.index != 0) continue;
        UniqueId id;
        check(api, api.GetUniqueId(&id), "ncclGetUniqueId");
        lines += format("{} {}\n", to_string(key), hex_of(id));
    }
    return lines;
}

UniqueId find_id(const std::string& lines, GroupKey key) {
    const std::string name = format("{} ", to_string(key));
    const std::size_t at = lines.starts_with(name) ? 0 : lines.find("\n" + name) + 1;
    const std::size_t first = at + name.size();
    return id_of(lines.substr(first, lines.find('\n', first) - first));
}

}  // namespace

void check(const Api& api, int code, std::string_view what) {
    if (code == kSuccess) return;
    const char* more = api.GetLastError(nullptr);
    throw TransportError(format("{}: NCCL says: {}{}", what, api.GetErrorString(code),
                                more == nullptr || *more == 0 ? "" : format(" ({})", more)));
}

std::vector<OwnGroup> own_groups(const Mesh& mesh, int rank) {
    std::vector<OwnGroup> groups;
    for (const GroupKey key : kGroupKeys) {
        Group group = make_group(mesh, rank, key);
        const auto same = [&](const OwnGroup& own) { return own.group.ranks == group.ranks; };
        if (group.size() == 1 || std::any_of(groups.begin(), groups.end(), same)) continue;
        groups.push_back({key, std::move(group), {}});
    }
    return groups;
}

void exchange_ids(const Api& api, Exchange& exchange, int rank, Seconds timeout,
                  std::vector<OwnGroup>& groups) {
    const auto table = exchange.exchange("nccl", made_ids(api, groups), timeout);
    if (!table) throw TransportError(format("rank {}: {}", rank, table.error().message));
    for (auto& [key, group, id] : groups) {
        id = find_id((*table)[usize(group.ranks[0])], key);
    }
}

}  // namespace rm::nccl
