#include "cli/client/signals.h"
#include "cli/client/web_tunnel.h"
#include "cli/up/cluster_file.h"
#include "cli/verb.h"

namespace rm {
namespace {

struct WebOptions : VerbOptions {
    int port = add("--port", port, "The local port [any free one]",
                   {.type = "N", .check = whole_number(0, 65535)});
    std::string http =
        add("--http", http, "The controller's HTTP address [the port after that of gRPC]",
            {.type = "HOST:PORT"});
};

Result<HostPort> page_of(const WebOptions& options, const TargetFlags& flags,
                         const Target& target) {
    if (!options.http.empty()) return parse_host_port(options.http);
    if (flags.address.empty() && !flags.state_dir.empty()) {
        RM_TRY(const std::string http, http_of_cluster(flags.state_dir));
        return parse_host_port(http);
    }
    if (target.address.starts_with("unix:")) {
        return make_error(ErrorCode::failed_precondition,
                          "{} does not say where the controller serves HTTP; give --http HOST:PORT",
                          target.address);
    }
    RM_TRY(HostPort page, parse_host_port(target.address));
    ++page.port;
    return page;
}

Result<ExitCode> run_web(const WebOptions& options, VerbContext& context) {
    Signals signals;
    RM_TRY(const Target target, find_controller(context.target, environment_lookup));
    RM_TRY(const HostPort page, page_of(options, context.target, target));
    RM_TRY(const auto tunnel, WebTunnel::start(options.port, page, target.security));
    context.console.out.stream << tunnel->address() << '\n' << std::flush;
    context.console.note("Open this address in a browser of this machine. Ctrl-C ends it.");
    while (signals.take().interrupts == 0)
        signals.wait_for(Seconds{3600});
    return ExitCode::interrupted;
}

}  // namespace

Verb web_verb() {
    return verb_of("web", "Open the page of the cluster through these credentials", run_web,
                   {{"ringmaster web", "prints an address for the browser"},
                    {"ringmaster --context lab web --port 8080", ""}});
}

}  // namespace rm
