#include "service/security/role.h"

#include "base/words.h"

namespace rm {

std::string_view to_string(Role role) {
    switch (role) {
        case Role::viewer:
            return "viewer";
        case Role::submitter:
            return "submitter";
        case Role::admin:
            return "admin";
        case Role::worker:
            return "worker";
    }
    return "";
}

Result<Role> parse_role(std::string_view text) {
    return parse_word("role", text, {Role::viewer, Role::submitter, Role::admin, Role::worker});
}

bool includes(Role role, Role least) {
    if (role == least || role == Role::admin) return true;
    return role == Role::submitter && least == Role::viewer;
}

}  // namespace rm
