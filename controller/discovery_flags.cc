#include "controller/discovery_flags.h"

#include <CLI/CLI.hpp>

#include <cstdlib>

#include "controller/discovery/crusoe_api.h"
#include "controller/discovery/static_inventory.h"
#include "options/checks.h"

namespace rm {
namespace {

std::optional<std::string> of_this_process(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

using MakeProvider = std::function<std::unique_ptr<Provider>()>;

Result<MakeProvider> static_provider(const std::string& inventory) {
    if (inventory.empty())
        return invalid_argument("--provider static needs --inventory FILE (docs/discovery.md)");
    RM_RETURN_IF_ERROR(make_static_inventory(inventory)->list({}));
    return MakeProvider([inventory] { return make_static_inventory(inventory); });
}

Result<MakeProvider> crusoe_provider(const CrusoeFlags& flags, const Clock& clock) {
    RM_TRY(CrusoeConfig config,
           within("--provider crusoe", find_crusoe_config(flags, of_this_process)));
    return MakeProvider(
        [config, &clock] { return std::make_unique<CrusoeProvider>(config, clock); });
}

}  // namespace

void declare_discovery(CLI::App& app, DiscoveryFlags& flags) {
    const auto add = [&app](const char* name, std::string& value, const char* type,
                            const char* help) {
        return app.add_option(name, value, help)->type_name(type);
    };
    add("--provider", flags.provider, "none|static|crusoe",
        "Who lists the machines that should have workers (docs/discovery.md)")
        ->check(one_of({"none", "static", "crusoe"}))
        ->capture_default_str();
    add("--inventory", flags.inventory, "FILE", "Machines of --provider static");
    add("--provider-every", flags.every, "SPAN", "Time between looks at the machines")
        ->capture_default_str();
    add("--provision-command", flags.command, "TEXT",
        "The command that `ringmaster nodes` shows for a machine without a worker; {name} and "
        "{address} are the machine's")
        ->capture_default_str();
    add("--crusoe-config", flags.crusoe.file, "FILE", "Instead of ~/.crusoe/config");
    add("--crusoe-profile", flags.crusoe.profile, "NAME", "Profile there [CRUSOE_PROFILE]");
    add("--crusoe-project", flags.crusoe.project, "PROJECT",
        "Its id or name [CRUSOE_DEFAULT_PROJECT]");
    add("--crusoe-endpoint", flags.crusoe.endpoint, "URL",
        "Address of the API [CRUSOE_API_ENDPOINT]");
}

Result<DiscoveryOptions> discovery_options(const DiscoveryFlags& flags, const Clock& clock) {
    DiscoveryOptions options{.provider = nullptr, .command = flags.command};
    RM_TRY(options.every, within("--provider-every", parse_seconds(flags.every)));
    if (options.every.value <= 0)
        return invalid_argument("--provider-every '{}': give a time above 0", flags.every);
    if (flags.provider == "static") {
        RM_TRY(options.provider, static_provider(flags.inventory));
    } else if (flags.provider == "crusoe") {
        RM_TRY(options.provider, crusoe_provider(flags.crusoe, clock));
    }
    return options;
}

}  // namespace rm
