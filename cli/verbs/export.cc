#include <chrono>
#include <filesystem>
#include <future>

#include "base/clock.h"
#include "cli/client/calls.h"
#include "cli/client/signals.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "engine/train/save/checkpoint_export.h"

namespace rm {
namespace {

constexpr Seconds kBetweenNotes{10};

struct ExportOptions : VerbOptions {
    std::string from = add(
        "CHECKPOINT", from,
        "A checkpoint, a directory of checkpoints (the newest), or a job whose newest is readable "
        "here",
        required_text());
    std::string to = add("DIR", to, "Hugging Face directory to write", required_text());
    std::string dtype =
        add("--dtype", dtype, "Type of the weights [bf16 if the job computed in it]",
            one_word_of("bf16|f32"));
    std::string tokenizer =
        add("--tokenizer", tokenizer, "Its file or directory, instead of the one trained with",
            {.type = "PATH|none"});
    std::string base = add("--base", base,
                           "Directory that the model started from, whose other files to carry over",
                           {.type = "DIR|none"});
};

// A path that exists, or the newest checkpoint of a job.
Result<std::string> checkpoint_of(const std::string& from, VerbContext& context) {
    std::error_code ignored;
    if (std::filesystem::exists(from, ignored)) return from;
    if (from.find('/') != std::string::npos)
        return make_error(ErrorCode::not_found, "there is no checkpoint {}", from);
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, from));
    RM_TRY(const pb::Job job, get_job(client, id));
    const pb::Attempt* attempt = newest_attempt(job);
    const std::string path = attempt == nullptr ? "" : attempt->last_checkpoint_path();
    if (path.empty()) {
        return make_error(ErrorCode::failed_precondition, "job {} has no checkpoint yet", id);
    }
    if (std::filesystem::exists(path, ignored)) return path;
    return make_error(ErrorCode::failed_precondition,
                      "the newest checkpoint of job {} is {}, which this machine does not have: "
                      "export it on a node that does",
                      id, path);
}

// A signal ends it; what has been written aside is removed.
Result<ExportedCheckpoint> export_with_notes(const CheckpointExport& what, Signals& signals,
                                             Console& console) {
    Activity activity;
    Faults none;
    auto done =
        std::async(std::launch::async, [&] { return export_checkpoint(what, activity, none); });
    const std::stop_callback on_signal(signals.token(), [&activity] { activity.cancelled = true; });
    const auto interval = std::chrono::duration<double>(kBetweenNotes.value);
    while (done.wait_for(interval) != std::future_status::ready)
        console.note(format("read {}", Bytes{activity.done}));
    return done.get();
}

Result<ExitCode> run_export(const ExportOptions& options, VerbContext& context) {
    Signals signals;  // before any thread
    CheckpointExport what{.path = options.to, .tokenizer = options.tokenizer};
    what.base = options.base;
    if (!options.dtype.empty())
        what.dtype = options.dtype == "bf16" ? StorageType::bf16 : StorageType::f32;
    RM_TRY(what.checkpoint, checkpoint_of(options.from, context));
    const Stopwatch watch;
    RM_TRY(const ExportedCheckpoint exported, export_with_notes(what, signals, context.console));
    for (const std::string& note : exported.notes)
        context.console.note(note);
    context.console.out.stream << format(
        "{}: {} parameters as {} from {} in {}\n", options.to, grouped(exported.num_parameters),
        to_string(exported.dtype), exported.checkpoint, Seconds{watch.seconds()});
    return ExitCode::ok;
}

}  // namespace

Verb export_verb() {
    return verb_of("export", "Write a checkpoint as a Hugging Face model, on this machine",
                   run_export,
                   {{"ringmaster export a1b2c3 my-model", "the newest checkpoint of a job"},
                    {"ringmaster export /mnt/ckpt/a1b2c3/e1-s500 my-model --dtype f32", ""}});
}

}  // namespace rm
