#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace rm::test {

struct Factory {
    std::string name;
    std::unique_ptr<Kernels> (*make)();
};
inline std::ostream& operator<<(std::ostream& out, const Factory& factory) {
    return out << factory.name;
}

// Every implementation that this machine can run.
std::vector<Factory> kernel_factories();

}  // namespace rm::test
