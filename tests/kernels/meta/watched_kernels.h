#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/kernels/op_cases.h"

namespace rm::test {

// Counts calls of one op, and the faults found in its declarations on a real machine.
struct Declared {
    int num_calls = 0;
    std::vector<bool> changed;        // by declared write, in the op's order: was it in any call
    std::vector<std::string> faults;  // bytes that were read or written undeclared
};
using DeclaredOps = std::map<std::string, Declared>;

// Runs a case on the cpu backend, each op only after `meta` has recorded it on the same addresses.
// An op runs twice: on the memory as it is, where only declared writes may change; and with every
// undeclared byte overwritten, where declared writes must come out the same.
void watch_case(const OpCase& op_case, DType compute, DeclaredOps& declared);

}  // namespace rm::test
