#include <grpcpp/server_context.h>

#include "controller/ops/ops.h"
#include "controller/rpc/caller.h"
#include "controller/rpc/services.h"
#include "ringmaster/v1/topology.grpc.pb.h"

namespace rm {
namespace {

class TopologyService final : public pb::TopologyService::Service {
public:
    TopologyService(OpsContext& ops, SurveyLoop& surveys, SurveyStore& store)
        : ops_(ops), surveys_(surveys), store_(store) {}

    grpc::Status Links(grpc::ServerContext*, const pb::LinksRequest* request,
                       pb::LinksReply* reply) override {
        return answer(list_links(ops_, surveys_, *request), reply);
    }
    grpc::Status LinkHistory(grpc::ServerContext*, const pb::LinkHistoryRequest* request,
                             pb::LinkHistoryReply* reply) override {
        return answer(link_history(ops_, store_, *request), reply);
    }
    grpc::Status Placement(grpc::ServerContext*, const pb::PlacementRequest* request,
                           pb::PlacementReply* reply) override {
        return answer(get_placement(ops_, surveys_, *request), reply);
    }
    grpc::Status Survey(grpc::ServerContext*, const pb::SurveyRequest*,
                        pb::SurveyReply* reply) override {
        return answer(request_survey(surveys_), reply);
    }

private:
    OpsContext& ops_;
    SurveyLoop& surveys_;
    SurveyStore& store_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_topology_service(OpsContext& context, SurveyLoop& surveys,
                                                     SurveyStore& store) {
    return std::make_unique<TopologyService>(context, surveys, store);
}

}  // namespace rm
