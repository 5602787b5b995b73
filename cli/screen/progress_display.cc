#include "cli/screen/progress_display.h"

#include <algorithm>

#include "base/format.h"
#include "cli/show/text.h"
#include "engine/data/prepare.h"

namespace rm {
namespace {

constexpr double kPause = 10;  // s between two lines

// The share of the files' bytes that is encoded; empty files are done.
double share_done(const PrepareProgress& progress) {
    if (progress.stored_total == 0) return 1;
    return static_cast<double>(progress.stored_done) / static_cast<double>(progress.stored_total);
}

}  // namespace

std::string progress_bar(const Progress& progress, int width) {
    const double done = progress.num_steps > 0 ? static_cast<double>(progress.step) /
                                                     static_cast<double>(progress.num_steps)
                                               : 0;
    const double share = std::clamp(done, 0.0, 1.0);
    const std::string tail =
        format("] {:>3.0}%  ETA {}", share * 100, progress.left ? span_text(*progress.left) : "-");
    const int room = std::max(24, width) - static_cast<int>(tail.size()) - 1;
    const auto cells = usize(std::clamp(room, 4, 40));
    const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
    std::string bar = "[" + std::string(full, '=');
    if (full < cells) bar += '>' + std::string(cells - full - 1, ' ');
    return bar + tail;
}

std::string shortened(std::string line, int columns) {
    const auto room = usize(std::max(1, columns));
    while (line.size() > room) {
        const std::size_t open = line.find(" (");
        const std::size_t close = line.find(')', std::min(open, line.size()));
        if (close == std::string::npos) break;
        line.erase(open, close - open + 1);
    }
    return line.substr(0, room);
}

void ProgressDisplay::progress(const Progress& progress) {
    if (!out_.terminal) {
        out_.stream << progress.line << '\n' << std::flush;
        return;
    }
    erase();
    shown_ = progress;
    draw();
}

void ProgressDisplay::note(const std::string& text) {
    erase();
    out_.stream << printable(text) << '\n';
    draw();
    out_.stream << std::flush;
}

void ProgressDisplay::finish() {
    if (shown_) out_.stream << '\n' << std::flush;
    shown_.reset();
}

void ProgressDisplay::erase() {
    if (shown_) out_.stream << "\r\x1b[1A\x1b[J";
}

// The cursor rests at the end of the bar. A line as wide as the terminal would wrap and break
// erase().
void ProgressDisplay::draw() {
    if (!shown_) return;
    const int columns = out_.width - 1;
    out_.stream << shortened(shown_->line, columns) << '\n'
                << progress_bar(*shown_, columns) << std::flush;
}

std::string prepare_line(const PrepareProgress& progress, Seconds elapsed) {
    const PrepareCounts& counts = progress.counts;
    const double done = share_done(progress);
    std::string line =
        format("{} of {} ({:.0}%)  {} {}  {} {}", Bytes{progress.stored_done},
               Bytes{progress.stored_total}, 100 * done, grouped(counts.documents),
               plural(counts.documents, "document"),
               compact_count(static_cast<double>(counts.tokens)), plural(counts.tokens, "token"));
    if (!(elapsed.value > 0) || !(done > 0)) return line;
    line += format("  {:.1} MB/s", static_cast<double>(counts.bytes) / elapsed.value / 1e6);
    return line + "  ETA " + span_text(Seconds{elapsed.value * (1 - done) / done});
}

void PrepareDisplay::show(const PrepareProgress& progress, Seconds elapsed) {
    const std::string line = prepare_line(progress, elapsed);
    if (out_.terminal) {
        out_.stream << '\r' << shortened(line, out_.width - 1) << "\x1b[K" << std::flush;
        drawn_ = true;
        return;
    }
    const auto tenths = static_cast<std::int64_t>(share_done(progress) * 10);
    if (tenths <= tenths_ || elapsed.value < last_line_ + kPause) return;
    tenths_ = tenths;
    last_line_ = elapsed.value;
    out_.stream << line << '\n' << std::flush;
}

void PrepareDisplay::finish() {
    if (drawn_) out_.stream << '\n' << std::flush;
    drawn_ = false;
}

}  // namespace rm
