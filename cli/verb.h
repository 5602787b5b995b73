#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/client/client.h"
#include "cli/client/target.h"
#include "cli/document.h"
#include "cli/screen/console.h"
#include "options/checks.h"
#include "options/examples.h"

// A verb of `ringmaster` is one file of verbs/: its options and its action. verbs/table.cc lists
// the verbs.
namespace rm {

struct OptionRules {
    std::string type;  // what --help and completion show for its value; of a format: table|json
    bool required = false;
    OptionCheck check = nullptr;
    std::string needs;       // another option
    std::string excludes;    // likewise
    bool one_value = false;  // of a list, each time it is given
};

// "-o,--output" is an option, "FILE" a positional argument.
struct VerbOption {
    using Value = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                               std::vector<std::string>*, OutputFormat*>;
    std::string names;
    Value value;  // where the parser writes it
    std::string help;
    OptionRules rules;
};

// The options of a verb, in the order of --help. Each is a member that declares itself:
//     bool all = add("-a,--all", all, "Ended jobs too");
class VerbOptions {
public:
    VerbOptions() = default;
    VerbOptions(const VerbOptions&) = delete;  // the list points into the members
    VerbOptions& operator=(const VerbOptions&) = delete;

    const std::vector<VerbOption>& list() const { return list_; }

protected:
    // The value of an option that is not given.
    template <typename T>
    T add(std::string names, T& value, std::string help, OptionRules rules = {},
          std::type_identity_t<T> usual = {}) {
        list_.push_back({std::move(names), &value, std::move(help), std::move(rules)});
        return usual;
    }
    // -o,--output with these formats: "table|json".
    OutputFormat add_output(OutputFormat& format, std::string formats,
                            OutputFormat usual = OutputFormat::table) {
        return add("-o,--output", format, "Output format", {.type = std::move(formats)}, usual);
    }

private:
    std::vector<VerbOption> list_;
};

// Help texts that several verbs share.
constexpr const char* kJobHelp = "Job id, a unique prefix of it, or a job's name";
constexpr const char* kJobsHelp = "Job ids, unique prefixes of them, or names";
constexpr const char* kFollowHelp = "Show the job until it ends; Ctrl-C detaches";
constexpr const char* kNodesHelp = "Node names, ids, or unique prefixes of ids";

OptionRules required_text();                        // that is not empty
OptionRules number_from(std::int64_t least);        // N
OptionRules one_word_of(const std::string& words);  // a|b|c
OptionRules required(OptionRules rules);

struct VerbContext {
    Console& console;
    const Clock& clock;
    TargetFlags target;
    bool misused = false;  // the request itself is wrong: exit code `usage`

    // A client of the controller that flags, environment and config file name.
    Result<Client> connect();
};

// Prints the error on stderr, for a failure whose exit code is not that of its error.
ExitCode complain(Console& console, const Error& error, ExitCode code);

// A verb with the options of one command line.
class Command {
public:
    virtual ~Command() = default;
    virtual const VerbOptions& options() const = 0;
    // An Error is printed, and its code decides the exit code.
    virtual Result<ExitCode> run(VerbContext& context) const = 0;
};

struct Verb {
    std::string name;
    std::string help;
    std::function<std::unique_ptr<Command>()> make;  // null: a group of verbs
    std::vector<Verb> below;                         // of a group: `data prepare`
    std::vector<Example> examples;                   // a test passes each to the parser
};

template <typename Options>
class CommandWith : public Command {
public:
    using Run = Result<ExitCode> (*)(const Options&, VerbContext&);
    explicit CommandWith(Run run) : run_(run) {}

    const VerbOptions& options() const override { return options_; }
    Result<ExitCode> run(VerbContext& context) const override { return run_(options_, context); }

private:
    Options options_;
    Run run_;
};

template <typename Options>
Verb verb_of(std::string name, std::string help,
             Result<ExitCode> (*run)(const Options&, VerbContext&), std::vector<Example> examples) {
    const auto make = [run] { return std::make_unique<CommandWith<Options>>(run); };
    return {std::move(name), std::move(help), make, {}, std::move(examples)};
}

struct VerbGroup {
    std::string heading;  // of --help
    std::vector<Verb> verbs;
};

// Every verb, in the order of --help.
std::vector<VerbGroup> verb_table();

}  // namespace rm
