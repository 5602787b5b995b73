#include "cli/prepare_display.h"

#include "base/format.h"
#include "cli/progress_display.h"
#include "cli/text.h"

namespace rm {
namespace {

constexpr double kPause = 10;  // s between two lines

// The share of the files' bytes that is encoded; empty files are done.
double share_done(const PrepareProgress& progress) {
    if (progress.stored_total == 0) return 1;
    return static_cast<double>(progress.stored_done) / static_cast<double>(progress.stored_total);
}

}  // namespace

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
