#include "cli/man/manual.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <regex>

#include "base/format.h"
#include "cli/screen/console.h"
#include "cli/show/text.h"

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
         exit_entry(ExitCode::rejected, "The request is impossible, or the controller refused it."),
         exit_entry(ExitCode::job_failed, "The job failed, or another user cancelled it."),
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

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// A paragraph's text: `code` and **words** bold, links by their text.
std::string styled(const std::string& text) {
    static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
    static const std::regex mark(R"(`([^`]+)`|\*\*([^*]+)\*\*)");
    const std::string linked = std::regex_replace(text, link, "$1");
    return std::regex_replace(man_text(linked), mark, "\\fB$1$2\\fR");
}

std::vector<std::string> cells_of(const std::string& row) {
    std::vector<std::string> cells;
    for (const std::string& cell : split(row.substr(1), '|'))
        cells.push_back(trimmed(cell));
    return cells;
}

// One of our documents as the body of a manual page: its headings as sections, a table as a list of
// its first column. Omits the title, with one #. Supports only the Markdown that docs/ use.
class MarkdownPage {
public:
    std::string of(const std::string& markdown) {
        for (const std::string& line : split(markdown, '\n'))
            add(line);
        end_paragraph();
        return std::move(out_);
    }

private:
    void add(const std::string& line) {
        if (!line.starts_with('|')) num_rows_ = 0;
        if (line.starts_with("```")) {
            end_paragraph();
            in_code_ = !in_code_;
            out_ += in_code_ ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n";
        } else if (in_code_) {
            out_ += line.empty() ? "\\&\n" : man_text(line) + "\n";
        } else if (line.starts_with('|')) {
            add_row(cells_of(line));
        } else if (line.starts_with('#')) {
            add_heading(line);
        } else if (line.empty()) {
            end_paragraph();
        } else if (line.starts_with("* ")) {
            end_paragraph();
            macro_ = ".IP \\(bu 2\n";
            paragraph_ = trimmed(line.substr(2));
        } else {
            paragraph_ += (paragraph_.empty() ? "" : " ") + trimmed(line);
        }
    }

    void add_heading(const std::string& line) {
        end_paragraph();
        const std::size_t level = line.find_first_not_of('#');
        const std::string title = trimmed(line.substr(level));
        if (level == 1) {
            out_ += ".SH DESCRIPTION\n";
        } else if (level == 2) {
            out_ += ".SH " + man_text(upper(title)) + "\n";
        } else {
            out_ += ".SS " + man_text(title) + "\n";
        }
    }

    // The first two lines of a table are its heading.
    void add_row(const std::vector<std::string>& cells) {
        end_paragraph();
        if (++num_rows_ == 1) names_ = cells;
        if (num_rows_ <= 2 || cells.empty()) return;
        std::string text = cells.size() > 1 ? styled(cells[1]) : "";
        if (cells.size() > 2 && !cells[2].empty()) {
            text += (text.empty() ? "" : "; ") + man_text(names_[2]) + ": " + styled(cells[2]);
        }
        out_ += ".TP\n" + styled(cells[0]) + "\n" + (text.empty() ? "\\&" : text) + "\n";
    }

    void end_paragraph() {
        if (!paragraph_.empty()) out_ += macro_ + styled(paragraph_) + "\n";
        paragraph_.clear();
        macro_ = kParagraph;
    }

    static constexpr const char* kParagraph = ".PP\n";
    std::string out_;
    std::string paragraph_;
    std::string macro_ = kParagraph;
    bool in_code_ = false;
    int num_rows_ = 0;  // of the table so far
    std::vector<std::string> names_;
};

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

std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version) {
    std::vector<ManPage> pages;
    add_pages(app, "ringmaster", version, pages);
    pages.push_back({.name = "ringmaster-job",
                     .number = 5,
                     .summary = "what ringmaster-submit(1) takes: what to train, and on what",
                     .synopsis = "",
                     .version = version,
                     .sections = {},
                     .body = MarkdownPage().of(kJobFileDocument),
                     .see_also = {"ringmaster-submit(1)"}});
    return pages;
}

std::span<const Example> examples_of(std::string_view path) {
    const auto found =
        std::find_if(std::begin(kExamples), std::end(kExamples),
                     [path](const OfCommand& command) { return command.path == path; });
    if (found == std::end(kExamples)) return {};
    return found->examples;
}

}  // namespace rm
