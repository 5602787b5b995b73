#pragma once

#include <string>
#include <vector>

#include "cli/doctor/checks.h"

// The daemons of this machine as systemd runs them: their units and their configuration files.
namespace rm {

struct UnitFacts {
    std::string name;      // without .service
    bool enabled = false;  // it starts with the machine
};
struct ConfigFacts {
    std::string path;
    std::string fault;     // of the file, in its program's words; empty: none
    bool foreign = false;  // users other than root may change it
};
struct InstalledFacts {
    std::vector<UnitFacts> units;
    std::vector<ConfigFacts> files;
};

// `root` stands before the paths of units and files.
InstalledFacts installed_facts(const std::string& root = "");

// Nothing where nothing is installed.
std::vector<Check> check_installed(const InstalledFacts& installed);

}  // namespace rm
