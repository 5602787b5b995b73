#include <filesystem>

#include "cli/job_file_input.h"
#include "cli/verbs/follow_job.h"

namespace rm {

Result<ExitCode> run_verb(const SubmitOptions& options, VerbContext& context) {
    auto spec = read_job_file(options.file);
    if (!spec) return complain(context.console, spec.error(), ExitCode::usage);
    if (!options.from.empty()) {
        // Workers read it, whose working directory is another.
        spec->mutable_checkpoint()->set_from(std::filesystem::absolute(options.from).string());
    }
    // Before the first thread of gRPC, and only where Ctrl-C means something else than the end.
    std::optional<Signals> signals;
    if (options.follow) signals.emplace();
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, client.submit(*spec, random_request_id()));
    RM_RETURN_IF_ERROR(print_new_job(id, options.output, client, context));
    if (!signals) return ExitCode::ok;
    return follow_job(id, client, *signals, context);
}

}  // namespace rm
