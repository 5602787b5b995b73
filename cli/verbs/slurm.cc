#include <unistd.h>

#include <filesystem>

#include "cli/input/job_input.h"
#include "cli/slurm/batch_script.h"
#include "cli/slurm/sbatch.h"
#include "cli/up/daemon.h"
#include "cli/verb.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

struct SlurmScriptOptions : VerbOptions {
    std::string file = add("FILE", file, "The job file; - reads stdin", {.required = true});
    std::vector<std::string> set =
        add("--set", set, "Set a value of the job file, as for `ringmaster submit`",
            {.type = "KEY=VALUE", .one_value = true});
    std::string state =
        add("--state", state,
            "Keep the controller's state, logs and secrets in this directory, which all nodes must "
            "see [ringmaster-ID of the allocation]",
            {.type = "DIR"});
    std::string devices =
        add("--devices", devices,
            "Devices of each node, as for the worker [what Slurm allocates: the GPUs, or a CPU "
            "slot per CPU]",
            {.type = "DEVICES"}, "auto");
    std::string ports = add(
        "--ports", ports, "TCP ports at which ranks listen for other nodes, FIRST-LAST; 0: any [0]",
        {.type = "PORTS"}, "0");
};

struct SlurmSubmitOptions : SlurmScriptOptions {
    std::vector<std::string> options =
        add("OPTION", options, "Options of sbatch, after --: -- --nodes=2 --time=12:00:00");
};

// The nodes may have files of their own, so only the form of the job file is checked here.
Result<pb::JobSpec> checked_job(const SlurmScriptOptions& options, VerbContext& context) {
    auto spec = read_job_file(options.file, options.set);
    Status checked = spec ? Status() : Status(spec.error());
    if (checked) {
        RM_TRY(const JobSpec values, from_proto(*spec));
        checked = check_inputs(values, {.are = WorkersAre::elsewhere}, fs::current_path().string());
    }
    if (checked) return spec;
    context.misused = true;
    return checked.error();
}

// Checked where it will be made, as far as this machine sees it.
Status check_shared(const fs::path& directory) {
    const fs::path parent = fs::exists(directory) ? directory : directory.parent_path();
    if (access(parent.c_str(), W_OK | X_OK) == 0 && fs::is_directory(parent)) return {};
    return make_error(ErrorCode::failed_precondition,
                      "cannot write in {}: name a directory of a file system that all nodes share "
                      "by --state",
                      parent.string());
}

Result<std::string> script_of(const SlurmScriptOptions& options, const pb::JobSpec& job) {
    RM_TRY(const std::string worker, program_beside_this("ringmaster-worker"));
    const std::string here = fs::current_path().string();
    const std::string state =
        options.state.empty() ? "" : fs::absolute(options.state).lexically_normal().string();
    RM_RETURN_IF_ERROR(check_shared(state.empty() ? here : state));
    return batch_script(kBatchTemplate, {.programs = fs::path(worker).parent_path().string(),
                                         .directory = here,
                                         .state = state,
                                         .devices = options.devices,
                                         .ports = options.ports,
                                         .set = options.set,
                                         .job_name = job.name(),
                                         .job_file = job.yaml()});
}

Result<ExitCode> run_slurm_script(const SlurmScriptOptions& options, VerbContext& context) {
    RM_TRY(const pb::JobSpec job, checked_job(options, context));
    RM_TRY(const std::string script, script_of(options, job));
    context.console.out.stream << script << std::flush;
    return ExitCode::ok;
}

std::string size_text(const Allocation& allocation) {
    if (allocation.nodes.empty()) return "";
    return format(": {} {}, time limit {}", allocation.nodes,
                  allocation.nodes == "1" ? "node" : "nodes", allocation.time_limit);
}

Result<ExitCode> run_slurm_submit(const SlurmSubmitOptions& options, VerbContext& context) {
    RM_TRY(const pb::JobSpec job, checked_job(options, context));
    RM_TRY(const std::string script, script_of(options, job));
    RM_TRY(const Allocation allocation, submit_batch(script, options.options));
    const std::string state = options.state.empty()
                                  ? (fs::current_path() / ("ringmaster-" + allocation.id)).string()
                                  : fs::absolute(options.state).lexically_normal().string();
    context.console.note(
        format("allocation {} (job {}){}; its state will be in {}\nOnce it runs, from any machine "
               "that sees this directory: ringmaster --config {}/run/config.yaml ls",
               allocation.id, job.name(), size_text(allocation), state, state));
    context.console.out.stream << allocation.id << '\n' << std::flush;
    return ExitCode::ok;
}

}  // namespace

Verb slurm_verb() {
    return {"slurm",
            "Run a job in an allocation of Slurm, with a controller and workers of its own",
            nullptr,
            {verb_of("submit", "Submit a job file to Slurm; prints the allocation's id",
                     run_slurm_submit,
                     {{"ringmaster slurm submit job.yaml -- --nodes=2 --time=12:00:00",
                       "queued again before the time limit, until the job has ended"},
                      {"ringmaster slurm submit job.yaml --state /scratch/run1 -- --nodes=4 "
                       "--gpus-per-node=8",
                       "a state directory of one's own"}}),
             verb_of("script", "Print the batch script that `slurm submit` gives to Slurm",
                     run_slurm_script,
                     {{"ringmaster slurm script job.yaml", "then: sbatch --nodes=2 SCRIPT"}})}};
}

}  // namespace rm
