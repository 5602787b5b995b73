#include "controller/ops/ops.h"

namespace rm {

Result<pb::SurveyReply> request_survey(SurveyLoop& surveys) {
    RM_TRY(const std::int64_t number, surveys.request());
    pb::SurveyReply reply;
    reply.set_survey(number);
    reply.set_nodes(surveys.view().num_nodes);
    return reply;
}

}  // namespace rm
