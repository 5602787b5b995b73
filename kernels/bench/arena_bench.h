#pragma once

#include <span>

namespace rm::bench {

// `ring-bench arena`: plans every memory trace of the engine (engine_traces.h) and says how good
// the plan is and how long it took; with --only those whose name begins so; with --dump each trace
// is written to DIR/NAME.csv for ring-arena. Takes the words after the command's name; returns the
// exit code, 1 where a plan is not proved least.
int run_arena(std::span<char*> words);

}  // namespace rm::bench
