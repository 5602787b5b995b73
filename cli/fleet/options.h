#pragma once

#include <string>

#include "cli/fleet/operations.h"
#include "cli/fleet/shape_price.h"
#include "cli/verb.h"

// Shared by the verbs of `ringmaster fleet`.
namespace rm {

struct FleetOptions : VerbOptions {
    std::string file =
        add("--crusoe-config", file, "Instead of ~/.crusoe/config", {.type = "FILE"});
    std::string profile =
        add("--crusoe-profile", profile, "Profile there [CRUSOE_PROFILE]", {.type = "NAME"});
    std::string project = add("--crusoe-project", project,
                              "Its id or name [CRUSOE_DEFAULT_PROJECT]", {.type = "PROJECT"});
    std::string endpoint = add("--crusoe-endpoint", endpoint,
                               "Address of the API [CRUSOE_API_ENDPOINT]", {.type = "URL"});
};

// With the credentials of the person who calls.
Result<CrusoeApi> open_cloud(const FleetOptions& options, const VerbContext& context);

// "900s" and the like. Errors name the option.
Result<WaitRules> wait_rules(const std::string& timeout);

// False: the user said no. An error where no user can answer.
Result<bool> confirmed(Console& console, const std::string& question, bool yes);

Verb fleet_create_verb(), fleet_delete_verb();

}  // namespace rm
