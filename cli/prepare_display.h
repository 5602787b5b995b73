#pragma once

#include <string>

#include "base/units.h"
#include "cli/console.h"
#include "engine/data/prepare.h"

namespace rm {

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
