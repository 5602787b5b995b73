#pragma once

#include <string>

#include "base/words.h"

namespace rm {

// The permissions of a credential. viewer reads; submitter submits, and cancels what it submitted;
// admin does everything. worker is separate: only the calls of workers, as the node that it
// names. joiner is a join token's, and no other credential has it or may do what it may.
enum class Role { viewer, submitter, admin, worker, joiner };
constexpr auto vocabulary_of(Role) {
    return vocabulary<Role>("role", {{Role::viewer, "viewer"},
                                     {Role::submitter, "submitter"},
                                     {Role::admin, "admin"},
                                     {Role::worker, "worker"},
                                     {Role::joiner, "joiner"}});
}

// Whether `role` suffices where `least` is required.
bool includes(Role role, Role least);

// The least role of one method. A method that is in no table is refused to all callers.
struct MethodAccess {
    std::string method;  // full name, /package.Service/Method
    Role least = Role::admin;
    // True: every call leaves an audit row, not only refused ones.
    bool changes = false;
};

}  // namespace rm
