#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/words.h"

// Machines as a provider lists them, whether or not a worker runs on them.
namespace rm {

enum class MachineState { starting, running, stopped };
constexpr auto vocabulary_of(MachineState) {
    return vocabulary<MachineState>("state of a machine", {{MachineState::starting, "starting"},
                                                           {MachineState::running, "running"},
                                                           {MachineState::stopped, "stopped"}});
}

struct Machine {
    std::string id;     // the provider's; stays when a name is used again
    std::string name;   // the host name that it gives the machine
    std::string shape;  // "l40s-48gb.10x"; empty: unknown
    MachineState state = MachineState::running;
    std::vector<std::string> addresses;  // private ones first
    std::string location;                // empty: unknown
    bool operator==(const Machine&) const = default;
};

class Provider {
public:
    virtual ~Provider() = default;
    virtual std::string name() const = 0;  // "static", "crusoe"
    // Every machine, or an error: never a part of them.
    virtual Result<std::vector<Machine>> list(const std::stop_token& stop) = 0;
};

}  // namespace rm
