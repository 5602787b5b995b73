#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {

// Expects, from the connections its ranks reported, that the one ring of a job's first attempt
// follows the order of its placement: each rank listens at the data address of its node, and sends
// to the next and receives from the previous one over a connection that both report alike. `show`
// returns the job's current state (`show -o json`); reports may lag a moment behind the end of the
// job. `addresses` are the data addresses by node.
void expect_ring_as_placed(const std::function<Json()>& show,
                           const std::map<std::string, std::string>& addresses);

}  // namespace rm::e2e
