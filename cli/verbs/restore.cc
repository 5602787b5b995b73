#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "cli/up/daemon.h"
#include "cli/verb.h"

namespace rm {
namespace {

struct RestoreOptions : VerbOptions {
    std::string file = add("FILE", file, "The backup", {.required = true});
    std::string state_dir = add("--state", state_dir, "The controller's state directory",
                                {.type = "DIR", .required = true});
    std::string telemetry = add("--telemetry", telemetry,
                                "A backup of the telemetry, restored with it", {.type = "FILE"});
};

// The controller's own program reads and writes its databases.
Result<ExitCode> run_restore(const RestoreOptions& options, VerbContext&) {
    RM_TRY(const std::string program, program_beside_this("ringmaster-controller"));
    std::vector<const char*> argv = {program.c_str(), "--state", options.state_dir.c_str(),
                                     "--restore", options.file.c_str()};
    if (!options.telemetry.empty())
        argv.insert(argv.end(), {"--restore-telemetry", options.telemetry.c_str()});
    argv.push_back(nullptr);
    ::execv(program.c_str(), const_cast<char* const*>(argv.data()));
    return make_error(ErrorCode::internal, "cannot start {}: {}", program, std::strerror(errno));
}

}  // namespace

Verb restore_verb() {
    return verb_of("restore", "Restore a backup (the controller must be stopped)", run_restore,
                   {{"ringmaster restore monday.db --state /var/lib/ringmaster",
                     "the controller is stopped"}});
}

}  // namespace rm
