#pragma once

// How a process made by `up` is tied to it: posix_spawn cannot set PR_SET_PDEATHSIG and fork is not
// allowed beside gRPC's threads, so `up` spawns `ringmaster __child PARENT PROGRAM ARGS...`, which
// ties itself and becomes the program. The tie survives execve.
namespace rm {

constexpr const char* kChildVerb = "__child";

// Arranges for SIGTERM at the death of the parent with pid argv[0], then becomes argv[1]. Returns
// only on failure: the exit code, after a message on stderr.
int run_child(int argc, char** argv);

}  // namespace rm
