#include "cli/up/child.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rm {

int run_child(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "%s PARENT PROGRAM ARGS...: called by `ringmaster up` only\n",
                     kChildVerb);
        return 2;
    }
    const long parent = std::strtol(argv[0], nullptr, 10);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) {
        std::fprintf(stderr, "PR_SET_PDEATHSIG: %s\n", std::strerror(errno));
        return 1;
    }
    if (getppid() != parent) return 0;  // it died before the tie was there
    execv(argv[1], argv + 1);
    std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno));
    return 127;
}

}  // namespace rm
