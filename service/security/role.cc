#include "service/security/role.h"

namespace rm {

bool includes(Role role, Role least) {
    if (role == least) return true;
    if (role == Role::admin) return least != Role::joiner;
    return role == Role::submitter && least == Role::viewer;
}

}  // namespace rm
