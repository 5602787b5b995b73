#include "cli/input/model_input.h"

#include <filesystem>
#include <thread>

#include "cli/client/calls.h"
#include "cli/show/job_text.h"

namespace rm {

Result<std::string> model_path(const std::string& from, VerbContext& context) {
    std::error_code ignored;
    if (std::filesystem::exists(from, ignored)) return from;
    if (from.find('/') != std::string::npos)
        return make_error(ErrorCode::not_found, "there is no model {}", from);
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
                      "use it on a node that does",
                      id, path);
}

Result<std::unique_ptr<LocalModel>> open_model(const ModelVerbOptions& options, Signals& signals,
                                               VerbContext& context) {
    LocalModelOptions what{.tokenizer = options.tokenizer};
    RM_TRY(what.device, parse_rank_device(options.device));
    if (!options.precision.empty())
        what.compute = options.precision == "bf16" ? DType::bf16 : DType::f32;
    what.num_threads = static_cast<int>(options.threads);
    if (what.num_threads == 0)
        what.num_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    RM_TRY(what.path, model_path(options.model, context));
    using Opened = std::unique_ptr<LocalModel>;
    RM_TRY(Opened model, read_with_notes<Opened>(signals, context.console, [&](Activity& activity) {
               return LocalModel::open(what, activity);
           }));
    for (const std::string& note : model->notes())
        context.console.note(note);
    return model;
}

}  // namespace rm
