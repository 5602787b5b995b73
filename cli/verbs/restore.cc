#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/up/daemon.h"
#include "cli/verb.h"

namespace rm {
namespace {

struct RestoreOptions : VerbOptions {
    std::string file = add("FILE", file, "The backup", {.required = true});
    std::string state_dir = add("--state", state_dir, "The controller's state directory",
                                {.type = "DIR", .required = true});
};

// The controller's own program reads and writes its databases.
Result<ExitCode> run_restore(const RestoreOptions& options, VerbContext&) {
    RM_TRY(const std::string program, program_beside_this("ringmaster-controller"));
    ::execl(program.c_str(), program.c_str(), "--state", options.state_dir.c_str(), "--restore",
            options.file.c_str(), static_cast<char*>(nullptr));
    return make_error(ErrorCode::internal, "cannot start {}: {}", program, std::strerror(errno));
}

}  // namespace

Verb restore_verb() {
    return verb_of("restore", "Restore a backup (the controller must be stopped)", run_restore,
                   {{"ringmaster restore monday.db --state /var/lib/ringmaster",
                     "the controller is stopped"}});
}

}  // namespace rm
