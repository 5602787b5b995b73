#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/console.h"

namespace rm {

// The first `columns` characters of a line; escapes take no room, and colors end with the line.
std::string cut_to_width(const std::string& line, int columns);

// A whole terminal that is drawn again in place, on its alternate page: what was there before is
// there again afterwards, and keys arrive one by one, unseen. Only for an output that is a
// terminal.
class Screen {
public:
    Screen(Output& out, const Input& in);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    // Lines that do not fit are cut; `out`'s width is the terminal's from here on.
    void draw(const std::vector<std::string>& lines);
    // True when the terminal has another size than draw() has seen.
    bool resized() const;
    // A key that comes in time. Without a terminal to read from none ever does.
    std::optional<char> key(Seconds limit);

private:
    Output& out_;
    bool keys_ = false;
    termios before_{};
    int columns_ = 0;
    int rows_ = 0;
};

}  // namespace rm
