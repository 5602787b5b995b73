#pragma once

#include <string>

#include "controller/discovery/crusoe_config.h"
#include "controller/loops/discovery_loop.h"

namespace CLI {
class App;
}

namespace rm {

// The controller's flags about machines.
struct DiscoveryFlags {
    std::string provider = "none";
    std::string inventory;
    std::string every = "30 s";
    std::string command = "ansible-playbook ringmaster.cluster.site --limit {name}";
    CrusoeFlags crusoe;
};

void declare_discovery(CLI::App& app, DiscoveryFlags& flags);

// Errors name the flag; a provider that cannot be asked, for lack of a key or a file, is one.
Result<DiscoveryOptions> discovery_options(const DiscoveryFlags& flags, const Clock& clock);

}  // namespace rm
