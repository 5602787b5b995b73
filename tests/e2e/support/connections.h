#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {

// By what its ranks have said once they were connected, the one ring of a job's first attempt goes
// round in the order of its placement: each rank listens at the data address of the node where it
// was put, and sends to the next and receives from the previous one over a connection that both
// name alike. `show` is the job as of now (`show -o json`); reports may be a moment behind the end
// of the job. `addresses` are the data addresses by node.
void expect_ring_as_placed(const std::function<Json()>& show,
                           const std::map<std::string, std::string>& addresses);

}  // namespace rm::e2e
