#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/screen/console.h"

namespace rm {

// The first `columns` characters of a line; escapes take no room, and colors end with the line.
std::string cut_to_width(const std::string& line, int columns);

// A whole terminal that is redrawn in place, on its alternate page: the former contents return
// afterwards, and keys arrive one by one, without echo. Only for an output that is a terminal.
class Screen {
public:
    Screen(Output& out, const ConsoleInput& in);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    // Lines that do not fit are cut; `out`'s width is the terminal's from here on.
    void draw(const std::vector<std::string>& lines);
    // True when the terminal's size has changed since draw().
    bool resized() const;
    // A key pressed within the limit; nothing if there is none, or no terminal to read from.
    std::optional<char> key(Seconds limit);

private:
    Output& out_;
    bool keys_ = false;
    termios before_{};
    int columns_ = 0;
    int rows_ = 0;
};

}  // namespace rm
