#include "base/os/end_process.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace rm {

void end_process(int code) {
    std::cout.flush();
    std::cerr.flush();
    std::clog.flush();
    std::fflush(nullptr);
    std::_Exit(code);
}

}  // namespace rm
