#include "worker/daemon/worker_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iostream>

#include "engine/train/cpu_peak.h"
#include "options/checks.h"
#include "options/examples.h"
#include "options/usage.h"
#include "options/version.h"
#include "service/address.h"
#include "service/daemon/config_file.h"
#include "service/man_page.h"
#include "service/security/server_chain.h"
#include "worker/daemon/data_address.h"
#include "worker/inventory/inventory.h"
#include "worker/join/node_pki.h"
#include "worker/roots/root_paths.h"

namespace rm {
namespace {

// Turns one of our checks into a CLI11 check: the error message, or empty on success.
template <typename Check>
std::function<std::string(const std::string&)> words_of(Check check) {
    return [check](const std::string& text) {
        const auto result = check(text);
        return result ? std::string() : result.error().message;
    };
}

struct Texts {
    std::string devices;
    std::string orphan = "keep";
    std::string ports = to_string(kDataPorts);
    std::string probe_ports;
    std::string memory;
    std::string profile = "auto";
};

// Accepts a single word that fits a table cell and a command line and is not an option.
Status check_node_name(const std::string& name) {
    const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
    if (is_plain && !name.empty() && name.size() <= 63 && name[0] != '-') return {};
    return invalid_argument(
        "'{}' must be 1 to 63 letters, digits, '-', '_' or '.', not beginning with '-'", name);
}

Status check_probe_ports(const std::string& text) {
    if (text == "none") return {};
    const auto range = parse_port_range(text);
    return range ? Status() : Status(range.error());
}

Result<Bytes> check_memory(const std::string& text) {
    RM_TRY(const Bytes memory, parse_bytes(text));
    if (memory.value > 0) return memory;
    return invalid_argument("'{}' is no memory; give a size such as 64GiB", text);
}

void add_security(CLI::App& app, ClientSecurity& security) {
    app.add_option("--ca", security.ca, "CA certificate (PEM) of the controller; enables TLS");
    CLI::Option* cert = app.add_option(
        "--cert", security.certificate,
        "This worker's certificate (PEM); its name is the node's id, or a prefix of it and *");
    cert->needs(app.add_option("--key", security.key, "Its key (PEM)")->needs(cert));
    app.add_option("--server-name", security.server_name,
                   "Name expected in the controller's certificate, if not the address");
}

void add_joining(CLI::App& app, WorkerOptions& options) {
    CLI::Option* token = app.add_option(
        "--join-token", options.join_token,
        "File with a join token (`ringmaster token create`): the first start makes "
        "this machine a node with it and keeps a certificate in the state directory");
    token->type_name("FILE")->needs(
        app.add_option("--ca-fingerprint", options.ca_fingerprint,
                       "sha256:HEX of the controller's CA, which a machine that joins trusts")
            ->type_name("FINGERPRINT")
            ->check(words_of(parse_fingerprint)));
    token->excludes("--ca")->excludes("--cert");
}

// A node that has joined needs no flag again.
bool joins(const WorkerOptions& options) {
    if (!options.join_token.empty()) return true;
    std::error_code failure;
    return options.security.ca.empty() &&
           std::filesystem::exists(
               NodePki(options.state_dir + "/" + kNodePkiDirectory).certificate(), failure);
}

void add_metrics(CLI::App& app, MetricsOptions& metrics) {
    app.add_option("--http", metrics.address,
                   "HOST:PORT of /metrics, beyond loopback with --tls-cert; or none")
        ->capture_default_str();
    CLI::Option* cert = app.add_option(
        "--tls-cert", metrics.tls_cert,
        "PEM certificate for /metrics: enables TLS and requires a viewer's certificate or token");
    cert->needs(app.add_option("--tls-key", metrics.tls_key, "Its key (PEM)")->needs(cert));
    app.add_option("--deny-list", metrics.scrapers.deny_list,
                   "Revoked certificate serials; reloaded when the file changes");
    app.add_option("--tokens", metrics.scrapers.tokens,
                   "Hashes of the accepted tokens; reloaded when the file changes");
}

constexpr Example kExamples[] = {
    {"ringmaster-worker --state /var/lib/ringmaster-worker --controller 127.0.0.1:7070",
     "a controller on this machine"},
    {"ringmaster-worker --state /var/lib/ringmaster-worker --controller 10.0.0.1:7070 "
     "--join-token token --ca-fingerprint "
     "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
     "joins a controller elsewhere, as `ringmaster token create` prints it"},
    {"ringmaster-worker --state /var/lib/ringmaster-worker --controller 10.0.0.1:7070 --ca ca.crt "
     "--cert worker.crt --key worker.key --devices cpu:2 --root data=/srv/data",
     "a controller elsewhere"},
    {"ringmaster-worker --config /etc/ringmaster/worker.yaml", "with options from a file"}};

void add_place(CLI::App& app, WorkerOptions& options) {
    app.add_option("--state", options.state_dir, "Directory that keeps this worker's identity")
        ->type_name("DIR")
        ->required();
    app.add_option("--controller", options.controller,
                   "unix:/path or HOST:PORT, beyond loopback with --ca, --cert and --key")
        ->type_name("ADDRESS")
        ->required();
    app.add_option("--name", options.name,
                   "Name of this node in tables and commands [the host name]")
        ->type_name("NAME")
        ->check(words_of(check_node_name));
}

void add_network(CLI::App& app, WorkerOptions& options, Texts& texts) {
    app.add_option(
           "--data-address", options.data_address,
           "private IP address at which ranks of other nodes reach this one's; auto: first "
           "the one from which this machine reaches the controller, then the fastest of its "
           "private addresses, as the survey measures them")
        ->type_name("ADDRESS")
        ->check(words_of(check_data_address_option))
        ->capture_default_str();
    app.add_option("--ports", texts.ports,
                   "FIRST-LAST: TCP ports on which ranks and the survey's probes listen for other "
                   "nodes; firewalls between nodes must let them through; 0: any")
        ->check(words_of(parse_port_range))
        ->capture_default_str();
    app.add_option("--probe-ports", texts.probe_ports,
                   "other ports than --ports for the survey's probes; none: links of this worker "
                   "are not measured")
        ->check(words_of(check_probe_ports));
}

void add_orphan(CLI::App& app, WorkerOptions& options, Texts& texts) {
    app.add_option("--orphan", texts.orphan,
                   "keep: ranks outlive this daemon; stop: they stop when it stays away")
        ->check(words_of(parse_word<OrphanMode>))
        ->capture_default_str();
    app.add_option("--orphan-after", options.orphan.timeout.value,
                   "Seconds without a daemon after which --orphan stop stops ranks")
        ->type_name("S")
        ->check(number(0.001))
        ->capture_default_str();
    app.add_option("--stop-grace", options.orphan.grace.value,
                   "Seconds that ranks have to write a checkpoint when this worker stops them")
        ->type_name("S")
        ->check(number(0))
        ->capture_default_str();
}

void add_resources(CLI::App& app, WorkerOptions& options, Texts& texts) {
    app.add_option("--profile", texts.profile,
                   "auto: measures each kind of GPU once, before this worker joins; off: never; "
                   "now: again, emulated GPUs and CPU slots too")
        ->check(words_of(parse_word<ProfileMode>))
        ->capture_default_str();
    app.add_option("--slots-on-machine", options.slots_on_machine,
                   "Slots of all workers on this machine, which share its cores [N of --devices]")
        ->type_name("N")
        ->check(whole_number(1));
    app.add_option("--peak-cache", options.peak_cache,
                   "File that keeps the measured peak of this machine "
                   "[~/.cache/ringmaster/cpu_peak.json]")
        ->type_name("FILE");
    app.add_option("--root", options.roots,
                   "A directory below which job paths must lie; may be given several times. "
                   "Without any, jobs may name every path")
        ->type_name("NAME=PATH")
        ->check(words_of(parse_declared_root));
}

// The order is that of the help text.
void add_options(CLI::App& app, WorkerOptions& options, Texts& texts) {
    add_config_options(app);
    add_place(app, options);
    add_security(app, options.security);
    add_joining(app, options);
    app.add_option("--devices", texts.devices,
                   "What to offer: cuda:all, GPUs by number such as cuda:0,2, N CPU slots, written "
                   "cpu:N, or N emulated GPUs, emu:N [cuda:all where there are GPUs, else cpu:1]")
        ->check(words_of(parse_device_offer));
    add_metrics(app, options.metrics);
    add_network(app, options, texts);
    app.add_option("--memory", texts.memory,
                   "host memory that the ranks of this worker may use together, such as 64GiB "
                   "(default: the machine's, or its control group's limit, less a sixteenth)")
        ->check(words_of(check_memory));
    add_orphan(app, options, texts);
    add_resources(app, options, texts);
    app.set_version_flag("--version", std::string("ringmaster-worker ") + version());
    app.footer("\n" + examples_text(kExamples));
    add_man_flag(app, "ringmaster-worker", version(), kExamples,
                 {"ringmaster(1)", "ringmaster-controller(8)"},
                 [](const std::string& page) { throw CLI::CallForVersion(page, 0); });
}

WorkerCommandLine misuse(const std::string& what) {
    std::cerr << "ringmaster-worker: " << what << '\n';
    return {.options = std::nullopt, .exit_code = kExitUsage};
}

}  // namespace

WorkerCommandLine parse_command_line(int argc, char** argv) {
    CLI::App app("Ringmaster worker: offers the devices of this machine to a controller",
                 "ringmaster-worker");
    WorkerOptions options;
    options.peak_cache = default_peak_cache();
    Texts texts;
    add_options(app, options, texts);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return {.options = std::nullopt, .exit_code = exit_usage(app, error)};
    }
    const Wire wire = joins(options) ? Wire::tls : options.security.wire();
    if (const auto address = check_address(options.controller, wire); !address) {
        return misuse("--controller: " + address.error().message);
    }
    if (const auto roots = parse_declared_roots(options.roots); !roots) {
        return misuse("--root: " + roots.error().message);
    }
    options.metrics.scrapers.client_ca = options.security.ca;
    if (!texts.devices.empty()) options.devices = *parse_device_offer(texts.devices);
    options.ports = *parse_port_range(texts.ports);
    options.is_probed = texts.probe_ports != "none";
    if (options.is_probed && !texts.probe_ports.empty())
        options.probe_ports = *parse_port_range(texts.probe_ports);
    if (!texts.memory.empty()) options.memory = *parse_bytes(texts.memory);
    options.profile = *parse_word<ProfileMode>(texts.profile);
    options.orphan.mode = *parse_word<OrphanMode>(texts.orphan);
    const int own = options.devices ? options.devices->count : 0;
    if (options.slots_on_machine > 0 && options.slots_on_machine < own) {
        return misuse(format("--slots-on-machine {} is less than this worker's own {} slots",
                             options.slots_on_machine, own));
    }
    if (const auto config = config_to_print(app)) {
        std::cout << *config;
        return {};
    }
    return {.options = std::move(options)};
}

WorkerCommandLine parse_stop_ranks_line(int argc, char** argv) {
    CLI::App app(
        "Stops the ranks of this node, each job with a checkpoint, and waits for their end",
        "ringmaster-worker stop-ranks");
    WorkerOptions options;
    Texts texts;
    add_options(app, options, texts);
    app.footer("");
    for (CLI::Option* option : app.get_options(nullptr)) {
        const std::string name = option->get_lnames().front();
        const bool counts = name == "state" || name == "stop-grace";
        if (!counts) option->required(false);
        if (!counts && name != "config" && name != "help") option->group("");
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return {.options = std::nullopt, .exit_code = exit_usage(app, error)};
    }
    return {.options = std::move(options)};
}

}  // namespace rm
