#pragma once

#include <exception>
#include <string>

#include "base/result.h"

namespace rm {

// How far a rank had got when it failed.
enum class Reached { setup, training };

// The exit code (kRank... of spec/session.h) for an error of run_rank. An invalid job, a run that
// diverges and tokens beyond the vocabulary are bad input on every node. A file that is missing or
// damaged before training may be whole on another node; later, it may have been removed, which a
// retry detects during setup.
int exit_code_of(const Error& error, Reached reached);

// The message for users: std::bad_alloc only names its type, so this names the lack of memory.
std::string words_of(const std::exception& thrown);

// The same for an exception of run_rank. The cause of a stream's error decides its class.
int exit_code_of(const std::exception_ptr& thrown);

}  // namespace rm
