#include "base/clock.h"
#include "cli/client/signals.h"
#include "cli/input/model_input.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "engine/train/save/checkpoint_export.h"

namespace rm {
namespace {

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

// A signal ends it; what has been written aside is removed.
Result<ExportedCheckpoint> export_with_notes(const CheckpointExport& what, Signals& signals,
                                             Console& console) {
    return read_with_notes<ExportedCheckpoint>(signals, console, [&](Activity& activity) {
        Faults none;
        return export_checkpoint(what, activity, none);
    });
}

Result<ExitCode> run_export(const ExportOptions& options, VerbContext& context) {
    Signals signals;  // before any thread
    CheckpointExport what{.path = options.to, .tokenizer = options.tokenizer};
    what.base = options.base;
    if (!options.dtype.empty())
        what.dtype = options.dtype == "bf16" ? StorageType::bf16 : StorageType::f32;
    RM_TRY(what.checkpoint, model_path(options.from, context));
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
