#include "engine/memory/arena_solver.h"

namespace rm {

Result<std::unique_ptr<ArenaSolver>> make_milp_solver() {
    return make_error(
        ErrorCode::unimplemented,
        "this build has no CBC; install coinor-libcbc-dev and build with RM_CBC=AUTO, "
        "or use another solver");
}

}  // namespace rm
