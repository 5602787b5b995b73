#include "tests/engine/comm/cluster.h"

namespace rm::testing {

std::vector<std::string> transport_kinds() {
    return {"local", "shared"};
}

}  // namespace rm::testing
