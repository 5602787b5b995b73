#pragma once

#include <exception>
#include <string>

#include "base/result.h"

namespace rm {

// How far a rank had come when it failed.
enum class Reached { setup, training };

// The exit code (kRank... of base/session.h) that an error of run_rank belongs to. What the job
// asks for, a run that diverges and tokens beyond the vocabulary are bad input everywhere. A file
// that is missing or damaged before training may be whole on another node; later it may be one that
// somebody removed, which a retry finds again.
int exit_code_of(const Error& error, Reached reached);

// For people: that there was no memory, where the exception says no more than its name.
std::string words_of(const std::exception& thrown);

// The same of what it threw. A stream's error is classed by its cause.
int exit_code_of(const std::exception_ptr& thrown);

}  // namespace rm
