#include "controller/discovery/reconcile.h"

#include <algorithm>

#include "base/text.h"

namespace rm {
namespace {

bool is_loopback(std::string_view address) {
    return address.starts_with("127.") || address == "::1" || address == "localhost";
}

bool same_host(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return false;
    const auto first_part = [](std::string_view name) { return name.substr(0, name.find('.')); };
    return a == b ||
           (first_part(a) == first_part(b) && (a.find('.') == a.npos || b.find('.') == b.npos));
}

bool runs_on(const NodeFacts& node, const Machine& machine) {
    const auto& own = machine.addresses;
    const bool same_address = !is_loopback(node.data_address) && !node.data_address.empty() &&
                              std::find(own.begin(), own.end(), node.data_address) != own.end();
    return same_address || same_host(node.hostname, machine.name);
}

Standing standing_of(const MachineRow& row) {
    switch (row.machine.state) {
        case MachineState::starting:
            return row.nodes.empty() ? Standing::starting : Standing::matched;
        case MachineState::running:
            return row.nodes.empty() ? Standing::unprovisioned : Standing::matched;
        case MachineState::stopped:
            return row.nodes.empty() ? Standing::stopped : Standing::gone;
    }
    return Standing::starting;
}

bool is_listed(const std::vector<Machine>& machines, const std::string& id) {
    return std::any_of(machines.begin(), machines.end(),
                       [&id](const Machine& machine) { return machine.id == id; });
}

bool has_row(const std::vector<MachineRow>& rows, const NodeId& node) {
    return std::any_of(rows.begin(), rows.end(), [&node](const MachineRow& row) {
        return std::find(row.nodes.begin(), row.nodes.end(), node) != row.nodes.end();
    });
}

void add_unlisted(std::vector<MachineRow>& rows, const Machine& machine, const NodeId& node) {
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const MachineRow& row) {
        return row.machine.id == machine.id;
    });
    if (known != rows.end()) return known->nodes.push_back(node);
    rows.push_back({machine, Standing::gone, {node}});
}

}  // namespace

std::vector<MachineRow> reconcile(const std::vector<Machine>& machines,
                                  const std::vector<NodeFacts>& nodes, const Matches& before) {
    std::vector<MachineRow> rows;
    for (const Machine& machine : machines) {
        MachineRow& row = rows.emplace_back(MachineRow{machine, {}, {}});
        for (const NodeFacts& node : nodes)
            if (runs_on(node, machine)) row.nodes.push_back(node.id);
        row.standing = standing_of(row);
    }
    for (const NodeFacts& node : nodes) {
        const auto then = before.find(node.id);
        if (then == before.end() || is_listed(machines, then->second.id)) continue;
        if (!has_row(rows, node.id)) add_unlisted(rows, then->second, node.id);
    }
    return rows;
}

Matches matches_of(const std::vector<MachineRow>& rows) {
    Matches matches;
    for (const MachineRow& row : rows)
        for (const NodeId& node : row.nodes)
            matches[node] = row.machine;
    return matches;
}

std::string provision_command(const std::string& pattern, const Machine& machine) {
    std::string command = pattern;
    const auto fill = [&command](std::string_view place, const std::string& value) {
        for (std::size_t at = command.find(place); at != command.npos;
             at = command.find(place, at + value.size()))
            command.replace(at, place.size(), value);
    };
    fill("{name}", machine.name);
    fill("{address}", machine.addresses.empty() ? machine.name : machine.addresses.front());
    return command;
}

}  // namespace rm
