#include "tests/engine/comm/cluster.h"

namespace rm::testing {

std::vector<std::string> transport_kinds() {
    return {"local", "shared", "gloo", "mixed"};
}

}  // namespace rm::testing
