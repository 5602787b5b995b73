#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "cli/screen/console.h"

namespace rm {

struct PrepareProgress;

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

// "1.2 GiB of 4.0 GiB (30%)  12,345 documents  3.4M tokens  8.1 MB/s  ETA 3m12s".
std::string prepare_line(const PrepareProgress& progress, Seconds elapsed);

// Progress of `data prepare`: on a terminal one line, redrawn in place; otherwise a line for each
// further tenth of the bytes, at most one in ten seconds.
class PrepareDisplay {
public:
    explicit PrepareDisplay(const Output& out) : out_(out) {}
    ~PrepareDisplay() { finish(); }
    PrepareDisplay(const PrepareDisplay&) = delete;
    PrepareDisplay& operator=(const PrepareDisplay&) = delete;

    void show(const PrepareProgress& progress, Seconds elapsed);
    void finish();  // what is drawn stays, and later output begins on its own line

private:
    Output out_;
    bool drawn_ = false;
    double last_line_ = 0;  // s after the start
    std::int64_t tenths_ = 0;
};

}  // namespace rm
