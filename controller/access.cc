#include "controller/access.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "ringmaster/v1/access.pb.h"
#include "ringmaster/v1/admin.pb.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/join.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/topology.pb.h"
#include "ringmaster/v1/worker.pb.h"

namespace rm {
namespace {

namespace pb = ringmaster::v1;

const std::vector<MethodAccess> kPages = {
    {"/grpc.health.v1.Health/Check", Role::viewer},
    {"/grpc.health.v1.Health/Watch", Role::viewer},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::viewer},
    {std::string(kMetricsPage), Role::viewer},
    {std::string(kDiscoveryPage), Role::viewer},
    {std::string(kStreamPage), Role::viewer},
    {std::string(kLoginPage), Role::viewer},
};

void add_methods(const google::protobuf::ServiceDescriptor& service,
                 std::vector<MethodAccess>& table) {
    for (int i = 0; i < service.method_count(); ++i) {
        const auto& method = *service.method(i);
        const pb::Access& access = method.options().GetExtension(pb::access);
        if (access.role() == pb::Access::ROLE_UNSPECIFIED) continue;
        // The roles of both have one order.
        table.push_back({.method = "/" + service.full_name() + "/" + method.name(),
                         .least = static_cast<Role>(access.role() - pb::Access::VIEWER),
                         .changes = access.changes()});
    }
}

std::vector<MethodAccess> make_table() {
    std::vector<MethodAccess> table = kPages;
    for (const auto* some : {pb::BackupRequest::descriptor(), pb::Job::descriptor(),
                             pb::Node::descriptor(), pb::LinksRequest::descriptor(),
                             pb::WorkerMessage::descriptor(), pb::JoinRequest::descriptor()}) {
        for (int i = 0; i < some->file()->service_count(); ++i)
            add_methods(*some->file()->service(i), table);
    }
    return table;
}

}  // namespace

std::span<const MethodAccess> access_table() {
    static const std::vector<MethodAccess> table = make_table();
    return table;
}

}  // namespace rm
