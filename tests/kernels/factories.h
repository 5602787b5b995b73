#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "tests/kernels/op_cases.h"

namespace rm::test {

struct Factory {
    std::string name;
    std::unique_ptr<Kernels> (*make)();
    bool (*takes)(const OpCase&) = [](const OpCase&) { return true; };  // by contract
};
inline std::ostream& operator<<(std::ostream& out, const Factory& factory) {
    return out << factory.name;
}

// Every implementation that this machine can run, `cuda` only where there is a GPU. If the
// environment variable RM_KERNELS is set, only those whose names begin with it.
std::vector<Factory> kernel_factories();

// The device kernels under the emulator, on one schedule (kernels_emu_test has the others); empty
// on machines without an emulator.
std::vector<Factory> emu_factories();

}  // namespace rm::test
