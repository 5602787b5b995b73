#include <algorithm>
#include <chrono>
#include <thread>

#include "base/units.h"
#include "cli/client/signals.h"
#include "cli/screen/progress_display.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "engine/data/data_format.h"
#include "engine/data/prepare.h"

namespace rm {
namespace {

struct PrepareDataOptions : VerbOptions {
    std::vector<std::string> inputs =
        add("INPUT", inputs, "Directories or files of text or JSON Lines", {.required = true});
    std::string tokenizer =
        add("--tokenizer", tokenizer, "bytes, or a tokenizer.json or its directory",
            {.type = "PATH|bytes", .required = true});
    std::string output = add("--output", output, "Write PREFIX.bin and PREFIX.idx",
                             {.type = "PREFIX", .required = true});
    std::string format = add("--format", format, "Format of the input [auto]",
                             one_word_of("auto|text|jsonl"), "auto");
    int num_threads = add("--jobs", num_threads, "Threads [one per core]",
                          {.type = "N", .check = whole_number(1, 1024)});
};

using TimePoint = std::chrono::steady_clock::time_point;

Seconds since(TimePoint start) {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

std::string rate_text(std::int64_t bytes, Seconds seconds) {
    if (!(seconds.value > 0)) return "-";
    return format("{:.1} MB/s", static_cast<double>(bytes) / seconds.value / 1e6);
}

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
        console.note(format("skipped {}", counted(counts.empty_documents, "empty document")));
    }
    console.out.stream << format("{} {}, {} {} from {} in {}: {}, {} per thread\n{}.bin\n{}.idx\n",
                                 grouped(counts.documents), plural(counts.documents, "document"),
                                 grouped(counts.tokens), plural(counts.tokens, "token"),
                                 Bytes{counts.bytes}, elapsed, rate_text(counts.bytes, elapsed),
                                 rate_text(counts.bytes / options.num_threads, elapsed),
                                 options.output, options.output);
}

Result<ExitCode> run_data(const PrepareDataOptions& options, VerbContext& context) {
    Signals signals;  // before the threads that encode
    RM_TRY(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(options.tokenizer));
    RM_TRY(const auto texts, open_inputs(options, context.console));
    std::atomic<bool> stop{false};
    const std::stop_callback on_signal(signals.token(), [&stop] { stop = true; });
    PrepareDisplay display(context.console.err);
    const TimePoint start = std::chrono::steady_clock::now();
    PrepareOptions prepare_options{
        .output = options.output,
        .num_threads = options.num_threads > 0
                           ? options.num_threads
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
        .stop = &stop,
        .on_progress = [&display, start](const PrepareProgress& progress) {
            display.show(progress, since(start));
        }};
    const auto counts = prepare(texts, *tokenizer, prepare_options);
    const Seconds elapsed = since(start);
    display.finish();
    if (!counts) return counts.error();
    summarize(*counts, prepare_options, elapsed, context.console);
    return ExitCode::ok;
}

}  // namespace

Verb data_show_verb();     // data_show.cc
Verb data_needles_verb();  // data_needles.cc

Verb data_verb() {
    return {
        "data",
        "Prepare data to train on, and show what it holds",
        nullptr,
        {verb_of(
             "prepare", "Tokenize text once, into a Megatron data set (.bin, .idx)", run_data,
             {{"ringmaster data prepare text --tokenizer bytes --output set",
               "set.bin and set.idx"},
              {"ringmaster data prepare a.jsonl b.jsonl --tokenizer model --output set --jobs 8",
               ""}}),
         data_show_verb(), data_needles_verb()}};
}

}  // namespace rm
