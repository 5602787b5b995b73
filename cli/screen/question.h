#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client/signals.h"
#include "cli/screen/console.h"

namespace rm {

// The next line that a user types; nothing: the input has ended, or the user interrupted it.
using NextLine = std::function<std::optional<std::string>()>;

// The lines of an input, which must be stdin where there are `signals`: an interrupt that they hold
// back ends it.
NextLine typed_lines(const ConsoleInput& in, Signals* signals);

enum class Answer { yes, no };

// Asks until the answer is yes or no. Enter alone is yes, the end of the input is no.
Answer ask(const Output& out, std::string_view question, const NextLine& next);

}  // namespace rm
