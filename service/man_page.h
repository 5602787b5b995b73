#pragma once

#include <string>
#include <vector>

// A page of the manual, made from a program's description of its command line, so that the two
// cannot differ. The macros are those of man(7).
namespace rm {

struct ManEntry {
    std::string term;  // -o, --output table|json
    std::string text;
};
struct ManSection {
    std::string title;  // OPTIONS
    std::string text;
    std::vector<ManEntry> entries;
};
struct ManPage {
    std::string name;  // ringmaster-ls
    int number = 1;    // of the manual's part: 1 commands, 5 files, 8 daemons
    std::string summary;
    std::string synopsis;  // empty: it is no command
    std::string version;   // of the program
    std::vector<ManSection> sections;
    std::string body;                   // further sections, in troff's language
    std::vector<std::string> see_also;  // ringmaster(1)
};

std::string to_man(const ManPage& page);
// Text that troff prints as it is, at the beginning of a line or within one.
std::string man_text(const std::string& text);

// Reads a CLI::App's options: their names, the words for their values, and in brackets their
// defaults. (A template, as this layer does not know the library.)
template <typename App>
ManPage man_page_of(const App& app, std::string name, int number, std::string version) {
    ManPage page{.name = std::move(name),
                 .number = number,
                 .summary = app.get_description(),
                 .synopsis = "[options]",
                 .version = std::move(version),
                 .sections = {},
                 .body = "",
                 .see_also = {}};
    ManSection arguments{"ARGUMENTS", "", {}};
    ManSection options{"OPTIONS", "", {}};
    for (const auto* option : app.get_options(nullptr)) {
        std::string term;
        for (const std::string& letter : option->get_snames())
            term += (term.empty() ? "-" : ", -") + letter;
        for (const std::string& word : option->get_lnames())
            term += (term.empty() ? "--" : ", --") + word;
        const bool is_argument = !option->nonpositional();
        if (is_argument) {
            term = option->get_name(true);
            const std::string more = option->get_items_expected_max() > 1 ? "..." : "";
            page.synopsis += option->get_required() ? " " + term + more : " [" + term + "]" + more;
        } else if (option->get_items_expected_max() > 0) {
            term += " " + option->get_type_name();
            if (option->get_required()) page.synopsis += " " + term;
        }
        std::string text = option->get_description();
        std::string usual = option->get_default_str();  // of a list in brackets
        if (usual.starts_with('[')) usual = usual.substr(1, usual.size() - 2);
        if (!usual.empty()) text += " [" + usual + "]";
        (is_argument ? arguments : options).entries.push_back({term, text});
    }
    for (ManSection* section : {&arguments, &options}) {
        if (!section->entries.empty()) page.sections.push_back(std::move(*section));
    }
    return page;
}

// Makes the section EXAMPLES from items with a `command` and a `what` that explains it.
template <typename Examples>
ManSection examples_section(const Examples& examples) {
    ManSection section{"EXAMPLES", "", {}};
    for (const auto& example : examples)
        section.entries.push_back({std::string(example.command), std::string(example.what)});
    return section;
}

// `--man`: prints the page of a daemon instead of running it.
template <typename App, typename Examples, typename Stop>
void add_man_flag(App& app, const std::string& name, const std::string& version,
                  const Examples& examples, std::vector<std::string> see_also, const Stop& stop) {
    auto* const flag = app.add_flag_callback(
        "--man",
        [&app, name, version, section = examples_section(examples), see_also, stop] {
            constexpr int kDaemons = 8;
            ManPage page = man_page_of(app, name, kDaemons, version);
            page.sections.push_back(section);
            page.see_also = see_also;
            std::string text = to_man(page);
            text.pop_back();  // the library ends the line
            stop(text);
        },
        "Print this program's page of the manual, for man(1)");
    flag->configurable(false);
}

}  // namespace rm
