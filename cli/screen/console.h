#pragma once

#include <iostream>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/show/text.h"

namespace rm {

enum class Color { none, green, yellow, red, blue, magenta, cyan, dim };

// A stream and its terminal, if any. Tests pass a string stream.
struct Output {
    std::ostream& stream;
    bool terminal = false;  // may be redrawn and asked
    bool color = false;
    int width = 80;  // columns of the terminal

    std::string paint(std::string_view text, Color color) const;
    // Third-party text in a machine-readable form: all its bytes, or only the printable ones on a
    // terminal.
    std::string data(std::string_view text) const;
};

// Text behind `head`, wrapped to `width` as wrapped() does, further lines below the first one's
// text.
void print_hanging(const Output& out, std::string head, std::size_t indent, std::string_view text,
                   std::size_t width);

// The source of answers.
struct ConsoleInput {
    std::istream& stream;
    bool terminal = false;
};

// stdout is data, stderr is progress and errors.
struct Console {
    Output out;
    Output err;
    ConsoleInput in{std::cin};

    void note(std::string_view line) { err.stream << printable(line) << '\n' << std::flush; }
    // True for an answer that begins with y, and where there is no user to ask: input or stderr is
    // no terminal.
    bool confirm(std::string_view question);
};

// The console of this process: colors only on a terminal and without NO_COLOR in the environment.
Console process_console();

// The exit codes of the process; the table is in docs/cli.md.
enum class ExitCode {
    ok = 0,
    error = 1,
    usage = 2,
    not_found = 3,
    rejected = 4,  // infeasible, or the controller said no
    job_failed = 5,
    timed_out = 6,
    denied = 7,
    interrupted = 130,  // or the user said no
};

ExitCode exit_code_of(const Error& error);

}  // namespace rm
