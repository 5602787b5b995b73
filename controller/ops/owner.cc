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

Status check_priority(int priority, const Principal& caller) {
    if (priority <= kMostPriority || caller.role == Role::admin) return {};
    return make_error(ErrorCode::permission_denied,
                      "priority: {}; a {} may ask for at most {}, an admin for more", priority,
                      to_string(caller.role), kMostPriority);
}

}  // namespace rm
