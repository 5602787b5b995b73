#pragma once

#include <grpcpp/support/server_callback.h>

#include "controller/loops/survey_loop.h"
#include "controller/loops/telemetry_loop.h"
#include "controller/ops/context.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/security/gatekeeper.h"

namespace rm {

namespace pb = ringmaster::v1;
using TelemetryCall = grpc::ServerBidiReactor<pb::TelemetryMessage, pb::TelemetryAck>;

// Serves one telemetry stream without a thread of its own. gRPC owns the returned reactor, which
// deletes itself when the call is done.
TelemetryCall* serve_telemetry(const grpc::CallbackServerContext& call, OpsContext& context,
                               TelemetryLoop& telemetry, SurveyLoop& surveys,
                               const Gatekeeper& gatekeeper);

}  // namespace rm
