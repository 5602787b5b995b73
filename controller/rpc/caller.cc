#include "controller/rpc/caller.h"

namespace rm {

Status check_speaks_for(const Principal& caller, const NodeId& node) {
    if (caller.role != Role::worker || speaks_for(caller.name, node.value)) return {};
    return make_error(ErrorCode::permission_denied,
                      "the certificate of '{}' is not valid for node '{}'; issue one whose name "
                      "is the node's id, or a prefix of it followed by *",
                      caller.name, node);
}

}  // namespace rm
