#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/exchange.h"
#include "controller/loops/telemetry_loop.h"
#include "controller/ops/context.h"
#include "controller/session.h"

// The gRPC services over the operations. gRPC's headers stay in rpc/*.cc.
namespace grpc {
class Service;
}

namespace rm {

std::unique_ptr<grpc::Service> make_job_service(OpsContext& context);
std::unique_ptr<grpc::Service> make_node_service(OpsContext& context);
std::unique_ptr<grpc::Service> make_worker_service(const SessionContext& session,
                                                   OpsContext& context, TelemetryLoop& telemetry);
// `database`: control.db.
std::unique_ptr<grpc::Service> make_admin_service(const std::string& database);
std::unique_ptr<grpc::Service> make_rendezvous_service(ExchangeTable& table);

}  // namespace rm
