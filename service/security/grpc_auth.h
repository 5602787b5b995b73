#pragma once

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>

#include "service/security/gatekeeper.h"

// Connects the gatekeeper to gRPC. This header pulls in gRPC: include it in few sources.
namespace rm {

// Runs before any service, built-in ones included, sees a call. Records refused callers under
// `peer`: gRPC tells it everything about a call except the caller's address. Keeps nothing on the
// connection, whose calls may be of different principals.
std::shared_ptr<grpc::AuthMetadataProcessor> make_auth_processor(const Gatekeeper& gatekeeper,
                                                                 CallTransport transport,
                                                                 std::string peer);

// Tells the gatekeeper of the end of every call, with its subject: the reply's or the request's
// `job_id`, `node_id` or `id`.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> make_audit_interceptor(
    const Gatekeeper& gatekeeper);

// The credentials that an admitted call presented.
Presented presented_by(const grpc::ServerContextBase& context);

}  // namespace rm
