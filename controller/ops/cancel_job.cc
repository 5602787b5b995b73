#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {
namespace {

Status check_owner(OpsContext& context, const JobId& id, const Principal& caller) {
    if (caller.role == Role::admin) return {};
    const std::string owner =
        context.control.read([&](const State& state) { return find_job(state, id)->owner; });
    if (owner == caller.name) return {};
    return make_error(ErrorCode::permission_denied,
                      "job {} is of '{}'; '{}' may cancel their own, an admin every job", id, owner,
                      caller.name);
}

}  // namespace

Result<pb::Job> cancel_job(OpsContext& context, const pb::CancelJobRequest& request,
                           const Principal& caller) {
    RM_TRY(const JobId id, context.control.read([&](const State& state) {
        return resolve_job(state, request.job_id());
    }));
    RM_RETURN_IF_ERROR(check_owner(context, id, caller));
    const StopMode mode = request.now() ? StopMode::now : StopMode::graceful;
    RM_RETURN_IF_ERROR(context.control.call(CancelJob{id, mode}));
    return view_job(context, id.value);
}

}  // namespace rm
