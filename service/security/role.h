#pragma once

#include <string_view>

#include "base/result.h"

namespace rm {

// The permissions of a credential. viewer reads; submitter submits, and cancels what it submitted;
// admin does everything. worker is beside these: the calls of workers, as the node it names, and no
// others.
enum class Role { viewer, submitter, admin, worker };
std::string_view to_string(Role role);
Result<Role> parse_role(std::string_view text);

// Whether `role` suffices where `least` is demanded.
bool includes(Role role, Role least);

// The least role of one method. A method that is in no table is refused to everybody.
struct MethodAccess {
    std::string_view method;  // full name, /package.Service/Method
    Role least = Role::admin;
    // Every call of one that changes something leaves an audit row, not only those refused.
    bool changes = false;
};

}  // namespace rm
