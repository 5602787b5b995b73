#pragma once

#include <iostream>
#include <string>
#include <string_view>

namespace rm {

enum class Color { none, green, yellow, red, dim };

// A stream and what is behind it. Tests give a string stream.
struct Output {
    std::ostream& stream;
    bool terminal = false;  // may be redrawn and asked
    bool color = false;
    int width = 80;  // columns of the terminal

    std::string paint(std::string_view text, Color color) const;
};

// stdout is data, stderr is progress and errors.
struct Console {
    Output out;
    Output err;

    void note(std::string_view line) { err.stream << line << '\n' << std::flush; }
};

// Of this process: colors only on a terminal and without NO_COLOR in the environment.
Console process_console();

}  // namespace rm
