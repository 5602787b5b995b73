#include "cli/man/manual.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <regex>

#include "base/format.h"
#include "base/text.h"
#include "cli/screen/console.h"
#include "cli/show/text.h"
#include "cli/verb.h"

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

void add_pages(const CLI::App& app, const std::string& path, const std::string& version,
               std::vector<ManPage>& pages) {
    std::string name = path;  // a verb may have hyphens of its own
    std::replace(name.begin(), name.end(), ' ', '-');
    ManPage page = man_page_of(app, name, kCommands, version);
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
        add_pages(*verb, path + " " + verb->get_name(), version, pages);
}

// A paragraph's text: `code` and **words** bold, links by their text.
std::string styled(const std::string& text) {
    static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
    static const std::regex mark(R"(`([^`]+)`|\*\*([^*]+)\*\*)");
    const std::string linked = std::regex_replace(text, link, "$1");
    return std::regex_replace(man_text(linked), mark, "\\fB$1$2\\fR");
}

std::vector<std::string> cells_of(std::string_view row) {
    row.remove_prefix(1);
    if (row.ends_with('|')) row.remove_suffix(1);
    std::vector<std::string> cells;
    for (const std::string_view cell : split(row, '|'))
        cells.emplace_back(trimmed(cell));
    return cells;
}

// One of our documents as the body of a manual page: its headings as sections, a table as a list of
// its first column. Omits the title, with one #. Supports only the Markdown that docs/ use.
class MarkdownPage {
public:
    std::string of(const std::string& markdown) {
        for (const std::string_view line : split(markdown, '\n'))
            add(std::string(line));
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
            paragraph_ += format("{}{}", paragraph_.empty() ? "" : " ", trimmed(line));
        }
    }

    void add_heading(const std::string& line) {
        end_paragraph();
        const std::size_t level = line.find_first_not_of('#');
        const std::string title(trimmed(std::string_view(line).substr(level)));
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
        if (num_rows_ <= 2) return;
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

// Examples of groups of verbs; the file of a verb has its own.
const OfCommand kExamples[] = {
    {"ringmaster",
     {{"ringmaster up --workers 4", "a cluster on this machine"},
      {"ringmaster submit job.yaml --follow", "run a job and watch it"},
      {"ringmaster explain ID", "why it waits, what it does, why it ended"},
      {"ringmaster logs ID -f --tail 20", "the last lines of rank 0, and what follows"}}},
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

std::vector<Example> examples_of(std::string_view path) {
    for (const OfCommand& command : kExamples)
        if (command.path == path) return command.examples;
    for (const VerbGroup& group : verb_table()) {
        for (const Verb& verb : group.verbs) {
            const std::string own = format("ringmaster {}", verb.name);
            if (path == own) return verb.examples;
            for (const Verb& below : verb.below)
                if (path == format("{} {}", own, below.name)) return below.examples;
        }
    }
    return {};
}

}  // namespace rm
