#include "cli/screen/question.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace rm {
namespace {

constexpr int kPollMillis = 100;

// A terminal has input once a line is complete. False: an interrupt came first.
bool wait_for_line(Signals& signals) {
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    while (signals.take().interrupts == 0) {
        if (poll(&ready, 1, kPollMillis) > 0) return true;
    }
    return false;
}

// Nothing: neither yes nor no.
std::optional<Answer> answer_of(std::string_view line) {
    std::string word(trimmed(line));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word.empty() || word == "y" || word == "yes") return Answer::yes;
    if (word == "n" || word == "no") return Answer::no;
    return std::nullopt;
}

}  // namespace

NextLine typed_lines(const ConsoleInput& in, Signals* signals) {
    return [&stream = in.stream, signals]() -> std::optional<std::string> {
        std::string line;
        if (signals != nullptr && !wait_for_line(*signals)) return std::nullopt;
        if (!std::getline(stream, line)) return std::nullopt;
        return line;
    };
}

Answer ask(const Output& out, std::string_view question, const NextLine& next) {
    for (;;) {
        out.stream << question << " [Y/n] " << std::flush;
        const std::optional<std::string> line = next();
        if (!line) {
            out.stream << '\n';
            return Answer::no;
        }
        if (const auto answer = answer_of(*line)) return *answer;
    }
}

}  // namespace rm
