#include "tests/kernels/factories.h"

namespace rm::test {

std::vector<Factory> emu_factories() {
    return {};
}

}  // namespace rm::test
