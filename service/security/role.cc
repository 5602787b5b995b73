#include "service/security/role.h"

namespace rm {

bool includes(Role role, Role least) {
    if (role == least || role == Role::admin) return true;
    return role == Role::submitter && least == Role::viewer;
}

}  // namespace rm
