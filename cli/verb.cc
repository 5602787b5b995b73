#include "cli/verb.h"

namespace rm {

Result<Client> VerbContext::connect() {
    RM_TRY(const Target controller, find_controller(target, environment_lookup));
    Console& out = console;
    auto client = Client::open(controller, [&out](std::string_view text) { out.note(text); });
    misused = !client && client.error().code == ErrorCode::invalid_argument;
    return client;
}

ExitCode complain(Console& console, const Error& error, ExitCode code) {
    console.note("ringmaster: " + error.message);
    return code;
}

}  // namespace rm
