#include "cli/examples.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace rm {
namespace {

struct OfCommand {
    std::string_view path;
    std::vector<Example> examples;
};

// A test passes every command in it to the parser.
const OfCommand kExamples[] = {
    {"ringmaster",
     {{"ringmaster up --workers 4", "a cluster on this machine"},
      {"ringmaster submit job.yaml --follow", "run a job and watch it"},
      {"ringmaster explain ID", "why it waits, what it does, why it ended"},
      {"ringmaster logs ID -f --tail 20", "the last lines of rank 0, and what follows"}}},
    {"ringmaster submit",
     {{"ringmaster submit job.yaml --follow", "watch it until it ends"},
      {"ringmaster submit job.yaml --set stages.0.learning_rate=1e-3 --name warm",
       "the same with another value"},
      {"ringmaster submit job.yaml --from checkpoints/e1-s500", "start from a checkpoint"}}},
    {"ringmaster continue",
     {{"ringmaster continue a1b2c3 --follow", "from its newest checkpoint"}}},
    {"ringmaster follow", {{"ringmaster follow a1b2c3", "Ctrl-C detaches; the job keeps running"}}},
    {"ringmaster wait",
     {{"ringmaster wait a1b2c3 d4e5f6 --timeout 30m", "exit code 5 if one failed, 6 if late"}}},
    {"ringmaster ls",
     {{"ringmaster ls -a", "ended jobs too"}, {"ringmaster ls -o name", "only ids, for a script"}}},
    {"ringmaster show",
     {{"ringmaster show a1b2c3", "everything about one job"},
      {"ringmaster show a1b2c3 -o json", "the same for a program"}}},
    {"ringmaster explain",
     {{"ringmaster explain night-run", "a job by its name"},
      {"ringmaster explain a1b2c3 -o json", "findings for a program"}}},
    {"ringmaster placement",
     {{"ringmaster placement a1b2c3", "the newest attempt"},
      {"ringmaster placement a1b2c3 --attempt 2", "an earlier one"}}},
    {"ringmaster logs",
     {{"ringmaster logs a1b2c3 -f --tail 20", "the last lines of rank 0, and what follows"},
      {"ringmaster logs a1b2c3 --all-ranks --since 10m", "each line with its rank"},
      {"ringmaster logs a1b2c3 --rank 3 -o json", "one object a line, with times"}}},
    {"ringmaster cancel",
     {{"ringmaster cancel a1b2c3", "with a checkpoint first"},
      {"ringmaster cancel a1b2c3 d4e5f6 --now", "without one"}}},
    {"ringmaster history",
     {{"ringmaster history --since 2d --sort loss", "jobs of two days, the highest loss first"},
      {"ringmaster history --group-by model", "sums for each model"},
      {"ringmaster history -o csv", "for a spreadsheet"}}},
    {"ringmaster top",
     {{"ringmaster top a1b2c3", "every rank of one job, live"},
      {"ringmaster top --nodes --once", "a line for each node, once"}}},
    {"ringmaster nodes",
     {{"ringmaster nodes -o wide", "with reasons of drains, roots and whole ids"}}},
    {"ringmaster drain",
     {{"ringmaster drain node-7 --reason disk", "its jobs move elsewhere"},
      {"ringmaster drain node-7 --keep-running", "its jobs may finish"},
      {"ringmaster drain node-7 --gone", "the machine no longer exists"}}},
    {"ringmaster resume", {{"ringmaster resume node-7", "back into service"}}},
    {"ringmaster links",
     {{"ringmaster links --matrix", "rates in numbers"},
      {"ringmaster links node-1 node-7", "every measurement of one link"},
      {"ringmaster links -o json", "a link file for `ringmaster place`"}}},
    {"ringmaster survey", {{"ringmaster survey --wait", "measure all links now"}}},
    {"ringmaster place",
     {{"ringmaster place --links links.json --mesh ring=4,tensor=2 --model llama3-8b --context 64K",
       ""},
      {"ringmaster place --links links.json --slurm", "Slurm's topology.conf"}}},
    {"ringmaster data", {}},
    {"ringmaster data prepare",
     {{"ringmaster data prepare text --tokenizer bytes --output set", "set.bin and set.idx"},
      {"ringmaster data prepare a.jsonl b.jsonl --tokenizer model --output set --jobs 8", ""}}},
    {"ringmaster up",
     {{"ringmaster up --workers 4 --job job.yaml", "a cluster for one job, stopped at its end"},
      {"ringmaster up --workers 4 --state lab", "one that stays, with its history"}}},
    {"ringmaster doctor",
     {{"ringmaster doctor --address controller.lab:7070 --ca ca.crt", "a remote controller"}}},
    {"ringmaster audit", {{"ringmaster audit --refused --since 2h", "who was refused, and why"}}},
    {"ringmaster backup", {{"ringmaster backup monday.db", "while the controller runs"}}},
    {"ringmaster restore",
     {{"ringmaster restore monday.db --state /var/lib/ringmaster", "the controller is stopped"}}},
    {"ringmaster pki", {}},
    {"ringmaster pki init", {{"ringmaster pki init --dir pki", "ca.crt, ca.key"}}},
    {"ringmaster pki issue",
     {{"ringmaster pki issue --dir pki --role server --name controller --san controller.lab -o c",
       ""},
      {"ringmaster pki issue --dir pki --role worker --name lab-* -o worker", ""}}},
    {"ringmaster pki revoke",
     {{"ringmaster pki revoke --dir pki alice.crt", "sessions end within seconds"}}},
    {"ringmaster pki token",
     {{"ringmaster pki token --dir pki --role viewer --name vera -o vera.token", ""}}},
    {"ringmaster man", {{"ringmaster man man1", "then: man -l man1/ringmaster.1"}}},
    {"ringmaster schema", {{"ringmaster schema", "save it beside job files, for an editor"}}},
    {"ringmaster version", {{"ringmaster version -o json", "version and protocol"}}},
    {"ringmaster completion", {{"ringmaster completion bash", "source <(...) in ~/.bashrc"}}},
    {"ringmaster help", {{"ringmaster help data prepare", "as `ringmaster data prepare --help`"}}},
};

}  // namespace

std::span<const Example> examples_of(std::string_view path) {
    const auto found =
        std::find_if(std::begin(kExamples), std::end(kExamples),
                     [path](const OfCommand& command) { return command.path == path; });
    if (found == std::end(kExamples)) return {};
    return found->examples;
}

}  // namespace rm
