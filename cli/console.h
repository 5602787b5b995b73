#pragma once

#include <iostream>
#include <string>
#include <string_view>

#include "cli/printable.h"

namespace rm {

enum class Color { none, green, yellow, red, dim };

// A stream and what is behind it. Tests give a string stream.
struct Output {
    std::ostream& stream;
    bool terminal = false;  // may be redrawn and asked
    bool color = false;
    int width = 80;  // columns of the terminal

    std::string paint(std::string_view text, Color color) const;
    // Text of others in the form that programs read: all bytes of it, but on a terminal what is
    // printable.
    std::string data(std::string_view text) const;
};

// Where answers are read from.
struct Input {
    std::istream& stream;
    bool terminal = false;
};

// stdout is data, stderr is progress and errors.
struct Console {
    Output out;
    Output err;
    Input in{std::cin};

    void note(std::string_view line) { err.stream << printable(line) << '\n' << std::flush; }
    // True for an answer that begins with y, and where nobody can be asked: input or stderr is no
    // terminal.
    bool confirm(std::string_view question);
};

// Of this process: colors only on a terminal and without NO_COLOR in the environment.
Console process_console();

}  // namespace rm
