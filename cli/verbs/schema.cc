#include "cli/job_schema.h"
#include "cli/verb.h"

namespace rm {
namespace {

struct SchemaOptions : VerbOptions {};

Result<ExitCode> run_schema(const SchemaOptions&, VerbContext& context) {
    context.console.out.stream << job_schema();
    return ExitCode::ok;
}

}  // namespace

Verb schema_verb() {
    return verb_of("schema", "Print the JSON Schema of job files, for editors and validators",
                   run_schema);
}

}  // namespace rm
