#include "controller/ops/owner.h"

namespace rm {

Status check_owner(const State& state, const JobId& id, const Principal& caller,
                   std::string_view verb) {
    const std::string& owner = find_job(state, id)->owner;
    if (caller.role == Role::admin || owner == caller.name) return {};
    return make_error(ErrorCode::permission_denied,
                      "job {} is of '{}'; '{}' may {} their own, an admin every job", id, owner,
                      caller.name, verb);
}

}  // namespace rm
