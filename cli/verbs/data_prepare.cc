#include <algorithm>
#include <chrono>
#include <thread>

#include "base/units.h"
#include "cli/progress_display.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "engine/data/data_format.h"
#include "engine/data/prepare.h"

namespace rm {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

Seconds since(TimePoint start) {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

std::string rate_text(std::int64_t bytes, Seconds seconds) {
    if (!(seconds.value > 0)) return "-";
    return format("{:.1} MB/s", static_cast<double>(bytes) / seconds.value / 1e6);
}

// On a terminal as often as there is news; elsewhere a line every ten seconds.
class PrepareDisplay {
public:
    explicit PrepareDisplay(const Output& out) : display_(out), terminal_(out.terminal) {}

    void show(const PrepareProgress& progress) {
        const Seconds elapsed = since(start_);
        if (!terminal_ && elapsed.value < next_line_) return;
        next_line_ = elapsed.value + 10;
        Progress shown{format("{} documents  {} tokens  {}", grouped(progress.counts.documents),
                              compact_count(static_cast<double>(progress.counts.tokens)),
                              rate_text(progress.counts.bytes, elapsed)),
                       progress.stored_done, progress.stored_total, std::nullopt};
        if (progress.stored_done > 0) {
            const double left = static_cast<double>(progress.stored_total - progress.stored_done) /
                                static_cast<double>(progress.stored_done);
            shown.left = Seconds{elapsed.value * left};
        }
        display_.progress(shown);
    }
    Seconds elapsed() const { return since(start_); }
    void finish() { display_.finish(); }

private:
    ProgressDisplay display_;
    bool terminal_;
    TimePoint start_ = std::chrono::steady_clock::now();
    double next_line_ = 10;
};

Result<std::vector<std::unique_ptr<TextSource>>> open_inputs(const PrepareDataOptions& options,
                                                             Console& console) {
    std::vector<std::unique_ptr<TextSource>> texts;
    for (const std::string& input : options.inputs) {
        RM_TRY(const FoundData found, find_data(input, options.format));
        RM_TRY(std::unique_ptr<TextSource> text, open_text(found));
        console.note(format("{}: {}", input, text->describe()));
        texts.push_back(std::move(text));
    }
    return texts;
}

void summarize(const PrepareCounts& counts, const PrepareOptions& options, Seconds elapsed,
               Console& console) {
    if (counts.empty_documents > 0) {
        console.note(format("passed over {} empty documents", counts.empty_documents));
    }
    console.out.stream << format(
        "{} documents, {} tokens from {} in {}: {}, {} per thread\n{}.bin\n{}.idx\n",
        grouped(counts.documents), grouped(counts.tokens), Bytes{counts.bytes}, elapsed,
        rate_text(counts.bytes, elapsed), rate_text(counts.bytes / options.num_threads, elapsed),
        options.output, options.output);
}

}  // namespace

Result<ExitCode> run_verb(const PrepareDataOptions& options, VerbContext& context) {
    Signals signals;  // before the threads that encode
    RM_TRY(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(options.tokenizer));
    RM_TRY(const auto texts, open_inputs(options, context.console));
    std::atomic<bool> stop{false};
    const std::stop_callback on_signal(signals.token(), [&stop] { stop = true; });
    PrepareDisplay display(context.console.err);
    PrepareOptions prepare_options{
        .output = options.output,
        .num_threads = options.num_threads > 0
                           ? options.num_threads
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
        .stop = &stop,
        .on_progress = [&display](const PrepareProgress& progress) { display.show(progress); }};
    const auto counts = prepare(texts, *tokenizer, prepare_options);
    const Seconds elapsed = display.elapsed();
    display.finish();
    if (!counts) return counts.error();
    summarize(*counts, prepare_options, elapsed, context.console);
    return ExitCode::ok;
}

}  // namespace rm
