#include "cli/man_pages.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/format.h"
#include "cli/examples.h"
#include "cli/exit_code.h"
#include "cli/job_file_document.h"
#include "cli/markdown_man.h"

namespace rm {
namespace {

constexpr int kCommands = 1;

std::vector<const CLI::App*> below(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

ManEntry exit_entry(ExitCode code, const char* text) {
    return {format("{}", static_cast<int>(code)), text};
}

ManSection exit_section() {
    return {
        "EXIT STATUS",
        "",
        {exit_entry(ExitCode::ok, "All is well; with --follow: the job has succeeded."),
         exit_entry(ExitCode::error,
                    "An error: the controller does not answer, a file is "
                    "damaged, doctor has found a failure."),
         exit_entry(ExitCode::usage, "An option or the job file is wrong."),
         exit_entry(ExitCode::not_found, "There is no such job, node, context or file."),
         exit_entry(ExitCode::rejected, "It cannot be, or the controller has refused it."),
         exit_entry(ExitCode::job_failed, "The job has failed, or somebody else has cancelled it."),
         exit_entry(ExitCode::timed_out, "It took too long."),
         exit_entry(ExitCode::denied, "No credential, or not one for this."),
         exit_entry(ExitCode::interrupted, "Interrupted.")}};
}

ManSection verbs_section(const CLI::App& app, const std::string& path) {
    ManSection section{"COMMANDS", "", {}};
    for (const CLI::App* verb : below(app)) {
        section.entries.push_back({path + " " + verb->get_name(), verb->get_description() + "."});
    }
    return section;
}

void add_pages(const CLI::App& app, const std::string& name, const std::string& version,
               std::vector<ManPage>& pages) {
    ManPage page = man_page_of(app, name, kCommands, version);
    std::string path = name;
    std::replace(path.begin(), path.end(), '-', ' ');
    const auto verbs = below(app);
    if (!verbs.empty()) {
        page.synopsis += " COMMAND ...";
        page.sections.insert(page.sections.begin(), verbs_section(app, path));
    }
    const bool is_program = app.get_parent() == nullptr;
    if (is_program) {
        page.sections.push_back(exit_section());
        page.see_also = {"ringmaster-job(5)", "ringmaster-controller(8)", "ringmaster-worker(8)"};
    } else {
        page.sections.push_back({"MORE OPTIONS",
                                 "The options of ringmaster(1) that name the controller are "
                                 "accepted here, too; exit statuses are explained there.",
                                 {}});
        page.see_also = {"ringmaster(1)"};
    }
    ManSection examples = examples_section(examples_of(path));
    if (!examples.entries.empty()) page.sections.push_back(std::move(examples));
    for (const CLI::App* verb : verbs)
        page.see_also.push_back(name + "-" + verb->get_name() + "(1)");
    pages.push_back(std::move(page));
    for (const CLI::App* verb : verbs)
        add_pages(*verb, name + "-" + verb->get_name(), version, pages);
}

}  // namespace

std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version) {
    std::vector<ManPage> pages;
    add_pages(app, "ringmaster", version, pages);
    pages.push_back({.name = "ringmaster-job",
                     .number = 5,
                     .summary = "what ringmaster-submit(1) takes: what to train, and on what",
                     .synopsis = "",
                     .version = version,
                     .sections = {},
                     .body = man_of_markdown(kJobFileDocument),
                     .see_also = {"ringmaster-submit(1)"}});
    return pages;
}

}  // namespace rm
