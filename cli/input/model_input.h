#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "cli/client/signals.h"
#include "cli/verb.h"
#include "engine/generate/local_model.h"

namespace rm {

// The path of a model: one that exists, or the newest checkpoint of a job, if this machine has it.
Result<std::string> model_path(const std::string& from, VerbContext& context);

// Does `work` on another thread; says every few seconds how much has been read. A signal cancels
// it.
template <typename T>
Result<T> read_with_notes(Signals& signals, Console& console,
                          const std::function<Result<T>(Activity&)>& work) {
    Activity activity;
    auto done = std::async(std::launch::async, [&] { return work(activity); });
    const std::stop_callback on_signal(signals.token(), [&activity] { activity.cancelled = true; });
    while (done.wait_for(std::chrono::seconds(10)) != std::future_status::ready)
        console.note(format("read {}", Bytes{activity.done}));
    return done.get();
}

// The options of verbs that use a model on this machine.
struct ModelVerbOptions : VerbOptions {
    std::string model = add("MODEL", model,
                            "A checkpoint, a directory of checkpoints (the newest), a Hugging Face "
                            "directory, or a job whose newest checkpoint is readable here",
                            required_text());
    std::string device =
        add("--device", device, "Where it computes [cpu]", {.type = "cpu|cuda:N|emu:N"}, "cpu");
    std::string precision = add("--precision", precision,
                                "It computes in [as trained; a Hugging Face model on a CPU: fp32]",
                                one_word_of("fp32|bf16"));
    std::int64_t threads =
        add("--threads", threads, "Threads of a CPU [all cores]", number_from(1), 0);
    std::string tokenizer =
        add("--tokenizer", tokenizer, "Its file or directory, instead of the model's own",
            {.type = "PATH|bytes"});
};

// Reads the model; says every few seconds how far it is. A signal ends it.
Result<std::unique_ptr<LocalModel>> open_model(const ModelVerbOptions& options, Signals& signals,
                                               VerbContext& context);

}  // namespace rm
