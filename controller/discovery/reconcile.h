#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "controller/discovery/provider.h"

// The provider's machines beside the controller's nodes. Pure.
namespace rm {

enum class Standing { unprovisioned, matched, gone, starting, stopped };
constexpr auto vocabulary_of(Standing) {
    return vocabulary<Standing>("standing of a machine",
                                {{Standing::unprovisioned, "unprovisioned"},
                                 {Standing::matched, "matched"},
                                 {Standing::gone, "gone"},
                                 {Standing::starting, "starting"},
                                 {Standing::stopped, "stopped"}});
}

struct NodeFacts {
    NodeId id;
    std::string hostname;
    std::string data_address;
};

struct MachineRow {
    Machine machine;
    Standing standing = Standing::unprovisioned;
    std::vector<NodeId> nodes;  // whose workers run there, or did
};

using Matches = std::map<NodeId, Machine>;

// A node's machine has its data address, unless that is a loopback one, or its host name, with or
// without a domain. A machine that runs and has no node is `unprovisioned`. `gone` is one that
// stopped, or that the provider lists no more, while a node of `before`, the matches of the last
// look, still stands in the tables. Rows are in the provider's order, those it no longer lists
// last.
std::vector<MachineRow> reconcile(const std::vector<Machine>& machines,
                                  const std::vector<NodeFacts>& nodes, const Matches& before);

// The matches of these rows, for the next look.
Matches matches_of(const std::vector<MachineRow>& rows);

// A controller's knowledge of its provider's machines.
struct MachinesView {
    std::string provider;  // empty: none is asked
    std::vector<MachineRow> rows;
    std::string problem;  // why the last look failed; the rows are those of the one before
    std::string command;  // provisions a machine; see provision_command()
};

// `pattern` with the machine's {name} and {address}.
std::string provision_command(const std::string& pattern, const Machine& machine);

}  // namespace rm
