#pragma once

#include <exception>

#include "base/result.h"

namespace rm {

// How far a rank had come when it failed.
enum class Reached { setup, training };

// The exit code (kRank... of base/session.h) that an error of run_rank belongs to. Before training
// whatever is missing or does not fit is the job's, the model's or the data's; later it may be a
// file that somebody removed, which a retry finds again.
int exit_code_of(const Error& error, Reached reached);

// The same of what it threw. A stream's error is classed by its cause.
int exit_code_of(const std::exception_ptr& thrown);

}  // namespace rm
