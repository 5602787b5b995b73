#include "controller/access.h"

#include <array>

namespace rm {
namespace {

constexpr bool kChanges = true;

constexpr std::array kTable = {
    MethodAccess{"/ringmaster.v1.JobService/Submit", Role::submitter, kChanges},
    MethodAccess{"/ringmaster.v1.JobService/Cancel", Role::submitter, kChanges},
    MethodAccess{"/ringmaster.v1.JobService/Continue", Role::submitter, kChanges},
    MethodAccess{"/ringmaster.v1.JobService/Explain", Role::viewer},
    MethodAccess{"/ringmaster.v1.JobService/List", Role::viewer},
    MethodAccess{"/ringmaster.v1.JobService/Get", Role::viewer},
    MethodAccess{"/ringmaster.v1.JobService/Watch", Role::viewer},
    MethodAccess{"/ringmaster.v1.JobService/Logs", Role::viewer},
    MethodAccess{"/ringmaster.v1.JobService/History", Role::viewer},
    MethodAccess{"/ringmaster.v1.JobService/Top", Role::viewer},
    MethodAccess{"/ringmaster.v1.NodeService/List", Role::viewer},
    MethodAccess{"/ringmaster.v1.NodeService/Get", Role::viewer},
    MethodAccess{"/ringmaster.v1.NodeService/Drain", Role::admin, kChanges},
    MethodAccess{"/ringmaster.v1.NodeService/Resume", Role::admin, kChanges},
    MethodAccess{"/ringmaster.v1.TopologyService/Links", Role::viewer},
    MethodAccess{"/ringmaster.v1.TopologyService/LinkHistory", Role::viewer},
    MethodAccess{"/ringmaster.v1.TopologyService/Placement", Role::viewer},
    MethodAccess{"/ringmaster.v1.TopologyService/Survey", Role::submitter, kChanges},
    MethodAccess{"/ringmaster.v1.AdminService/Audit", Role::admin},
    MethodAccess{"/ringmaster.v1.AdminService/Backup", Role::admin, kChanges},
    MethodAccess{"/ringmaster.v1.WorkerService/Session", Role::worker},
    MethodAccess{"/ringmaster.v1.WorkerService/Telemetry", Role::worker},
    MethodAccess{"/ringmaster.v1.RendezvousService/Exchange", Role::worker},
    MethodAccess{"/ringmaster.v1.RendezvousService/Publish", Role::worker},
    MethodAccess{"/grpc.health.v1.Health/Check", Role::viewer},
    MethodAccess{"/grpc.health.v1.Health/Watch", Role::viewer},
    MethodAccess{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::viewer},
    MethodAccess{kMetricsPage, Role::viewer},
    MethodAccess{kDiscoveryPage, Role::viewer},
};

}  // namespace

std::span<const MethodAccess> access_table() {
    return kTable;
}

}  // namespace rm
