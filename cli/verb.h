#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/client.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/target.h"

// A verb of `ringmaster` is one file of verbs/: its options and its action. verbs/table.cc lists
// the verbs.
namespace rm {

struct VerbContext {
    Console& console;
    const Clock& clock;
    TargetFlags target;
    bool misused = false;  // the error is about what was asked for: exit code `usage`

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
             Result<ExitCode> (*run)(const Options&, VerbContext&)) {
    const auto make = [run] { return std::make_unique<CommandWith<Options>>(run); };
    return {std::move(name), std::move(help), make, {}};
}

}  // namespace rm
