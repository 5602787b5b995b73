#pragma once

#include <string>
#include <vector>

#include "cli/doctor/checks.h"
#include "cli/verb.h"

// Looks up facts about this machine and changes nothing. Never fails: an unknown value is a fact as
// well.
namespace rm {

// Third-party libraries, opened by name at run time and asked for their versions.
struct GpuLibraries {
    std::string driver = "libcuda.so.1";
    std::string nccl = "libnccl.so.2";
    std::vector<std::string> runtimes = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
};

std::vector<std::string> missing_programs();  // beside this one
DriverFacts driver_facts(const GpuLibraries& names = {});
std::vector<GpuCondition> gpu_conditions();
VersionFacts cuda_runtime_facts(const GpuLibraries& names = {});
VersionFacts nccl_facts(const GpuLibraries& names = {});
CudaLibraryFacts cuda_library_facts();
PortFacts port_facts(int port, std::string purpose);  // on loopback
int num_free_ports(int first, int last);
// The controller that the command line talks to. Nodes with a session carry its own time.
ControllerFacts controller_facts(const VerbContext& context);
DiskFacts disk_facts(const std::string& directory);
LimitFacts memory_lock_limit();
LimitFacts open_files_limit();

}  // namespace rm
