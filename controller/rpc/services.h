#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/exchange.h"
#include "controller/loops/audit_loop.h"
#include "controller/loops/control_loop.h"
#include "controller/loops/survey_loop.h"
#include "controller/loops/telemetry_loop.h"
#include "controller/ops/context.h"
#include "controller/ops/ops.h"
#include "controller/session.h"
#include "service/security/gatekeeper.h"

// The gRPC services over the operations. gRPC's headers stay in rpc/*.cc.
namespace grpc {
class Service;
}

namespace rm {

// The gatekeeper admits every call before a service sees it; the services ask it for the caller.
std::unique_ptr<grpc::Service> make_job_service(OpsContext& context, const Gatekeeper& gatekeeper);
std::unique_ptr<grpc::Service> make_node_service(OpsContext& context, NodeRemoval removal);
std::unique_ptr<grpc::Service> make_topology_service(OpsContext& context, SurveyLoop& surveys,
                                                     SurveyStore& store);
// `database`: control.db.
std::unique_ptr<grpc::Service> make_admin_service(AuditLoop& audit, AuditReader& reader,
                                                  const std::string& state_dir);
std::unique_ptr<grpc::Service> make_worker_service(const SessionContext& session,
                                                   OpsContext& context, TelemetryLoop& telemetry,
                                                   SurveyLoop& surveys,
                                                   const Gatekeeper& gatekeeper);
std::unique_ptr<grpc::Service> make_rendezvous_service(ExchangeTable& table, ControlLoop& control,
                                                       const Gatekeeper& gatekeeper);

// Where machines join, as a worker must be told.
struct JoinPlace {
    std::string fingerprint;  // of the authority behind the controller's certificate
    std::string address;      // HOST:PORT, as that certificate names it
};
// FAILED_PRECONDITION: they cannot; says what to do.
using FindPlace = std::function<Result<JoinPlace>()>;
std::unique_ptr<grpc::Service> make_join_service(JoinBook& book, const Clock& clock,
                                                 const Gatekeeper& gatekeeper);
std::unique_ptr<grpc::Service> make_token_service(JoinBook& book, const Clock& clock,
                                                  const Gatekeeper& gatekeeper, FindPlace place);

}  // namespace rm
