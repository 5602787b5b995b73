#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/document.h"
#include "options/checks.h"

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

}  // namespace rm
