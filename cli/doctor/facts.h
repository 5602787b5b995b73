#pragma once

#include <string>
#include <vector>

#include "cli/doctor/checks.h"
#include "cli/verbs/verbs.h"

// What this machine is: looked up, nothing changed. Never an error: what cannot be found out is a
// fact as well.
namespace rm {

std::vector<std::string> missing_programs();  // beside this one
DriverFacts driver_facts();                   // through libcuda.so.1, if there is one
CudaLibraryFacts cuda_library_facts();
PortFacts port_facts(int port, std::string purpose);  // on loopback
int num_free_ports(int first, int last);
// Of the controller that the command line talks to. Nodes with a session carry its own time.
ControllerFacts controller_facts(const VerbContext& context);
DiskFacts disk_facts(const std::string& directory);
LimitFacts memory_lock_limit();
LimitFacts open_files_limit();

}  // namespace rm
