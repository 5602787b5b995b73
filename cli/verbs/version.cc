#include "options/version.h"

#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "spec/session.h"

namespace rm {
namespace {

struct VersionOptions : VerbOptions {
    OutputFormat output = add_output(output, "table|json|yaml");
};

Result<ExitCode> run_version(const VersionOptions& options, VerbContext& context) {
    std::ostream& out = context.console.out.stream;
    if (options.output == OutputFormat::json) {
        const nlohmann::ordered_json document = {{"version", version()}, {"protocol", kProtocol}};
        out << document.dump(2) << '\n';
    } else if (options.output == OutputFormat::yaml) {
        out << format("version: \"{}\"\nprotocol: {}\n", version(), kProtocol);
    } else {
        out << format("ringmaster {} (protocol {})\n", version(), kProtocol);
    }
    return ExitCode::ok;
}

}  // namespace

Verb version_verb() {
    return verb_of("version", "Print the version of this program", run_version,
                   {{"ringmaster version -o json", "version and protocol"}});
}

}  // namespace rm
