#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "cli/console.h"

namespace rm {

struct Progress {
    std::string line;  // the step line
    std::int64_t step = 0;
    std::int64_t num_steps = 0;
    std::optional<Seconds> left;
};

// [=========>          ]  45%  ETA 3m12s; `width` columns in all, at least 24.
std::string progress_bar(const Progress& progress, int width);

// A step line in at most `columns` characters: parts in parentheses go first, then the end.
std::string shortened(std::string line, int columns);

// The follower's output: on a terminal the step line and the bar stay at the bottom and are redrawn
// in place, notes scroll by above them; otherwise every line is printed once, plainly.
class ProgressDisplay {
public:
    explicit ProgressDisplay(const Output& out) : out_(out) {}
    ~ProgressDisplay() { finish(); }
    ProgressDisplay(const ProgressDisplay&) = delete;
    ProgressDisplay& operator=(const ProgressDisplay&) = delete;

    void progress(const Progress& progress);
    void note(const std::string& text);
    bool in_place() const { return out_.terminal; }
    void finish();  // what is drawn stays, and later output begins on its own line

private:
    void erase();
    void draw();

    Output out_;
    std::optional<Progress> shown_;
};

}  // namespace rm
