#include "worker/daemon/worker_options.h"

#include <CLI/CLI.hpp>
#include <arpa/inet.h>

#include <functional>
#include <iostream>

#include "engine/train/cpu_peak.h"
#include "service/address.h"
#include "service/man_page.h"
#include "worker/inventory/inventory.h"
#include "worker/roots/root_paths.h"

namespace rm {
namespace {

constexpr int kExitUsage = 2;

bool is_private_v4(std::uint32_t address) {
    const auto within = [&](std::uint32_t prefix, int bits) {
        return address >> (32 - bits) == prefix >> (32 - bits);
    };
    return within(0x7f000000, 8) || within(0x0a000000, 8) || within(0xac100000, 12) ||
           within(0xc0a80000, 16) || within(0xa9fe0000, 16);
}

bool is_private_v6(const in6_addr& address) {
    const bool unique_local = (address.s6_addr[0] & 0xfe) == 0xfc;
    return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address) || unique_local;
}

// A CLI11 check from one of ours: its words, or none when all is well.
template <typename Check>
std::function<std::string(const std::string&)> words_of(Check check) {
    return [check](const std::string& text) {
        const auto result = check(text);
        return result ? std::string() : result.error().message;
    };
}

struct Texts {
    std::string devices = "cpu:1";
    std::string orphan = "keep";
    std::string probe_ports = "7080-7199";
};

Status check_probe_ports(const std::string& text) {
    if (text == "none") return {};
    const auto range = parse_port_range(text);
    return range ? Status() : Status(range.error());
}

void add_security(CLI::App& app, ClientSecurity& security) {
    app.add_option("--ca", security.ca, "authority in PEM of the controller's certificate");
    CLI::Option* cert = app.add_option(
        "--cert", security.certificate,
        "this worker's certificate in PEM: its name is the node's id, or a beginning of it and *");
    cert->needs(app.add_option("--key", security.key, "its key in PEM")->needs(cert));
    app.add_option("--server-name", security.server_name,
                   "what the controller's certificate names, where it is not the address");
}

void add_metrics(CLI::App& app, MetricsOptions& metrics) {
    app.add_option("--http", metrics.address,
                   "host:port of /metrics, beyond 127.0.0.1 with --tls-cert; or none")
        ->capture_default_str();
    CLI::Option* cert = app.add_option(
        "--tls-cert", metrics.tls_cert,
        "certificate in PEM of /metrics: it speaks TLS and is for viewers, by certificate of --ca "
        "or token");
    cert->needs(app.add_option("--tls-key", metrics.tls_key, "its key in PEM")->needs(cert));
    app.add_option("--deny-list", metrics.scrapers.deny_list,
                   "serials of certificates that may not; read again when it changes");
    app.add_option("--tokens", metrics.scrapers.tokens,
                   "hashes of the tokens that may; read again when it changes");
}

void add_options(CLI::App& app, WorkerOptions& options, Texts& texts) {
    app.add_option("--state", options.state_dir, "directory that keeps this worker's identity")
        ->required();
    app.add_option("--controller", options.controller,
                   "unix:/path or host:port, beyond 127.0.0.1 with --ca, --cert and --key")
        ->required();
    add_security(app, options.security);
    app.add_option("--devices", texts.devices, "cpu:N: offer N CPU slots")
        ->check(words_of(parse_cpu_devices))
        ->capture_default_str();
    add_metrics(app, options.metrics);
    app.add_option("--data-address", options.data_address, "where ranks listen for each other")
        ->check(words_of(check_data_address))
        ->capture_default_str();
    app.add_option("--probe-ports", texts.probe_ports,
                   "FIRST-LAST: the survey's probes are received on the first that is free, on the "
                   "data address; 0: any; none: links of this worker are not measured")
        ->check(words_of(check_probe_ports))
        ->capture_default_str();
    app.add_option("--orphan", texts.orphan,
                   "keep: ranks outlive this daemon; stop: they stop when it stays away")
        ->check(words_of(parse_orphan_mode))
        ->capture_default_str();
    app.add_option("--orphan-after", options.orphan.timeout.value,
                   "seconds without a daemon after which --orphan stop stops ranks")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--stop-grace", options.orphan.grace.value,
                   "seconds that ranks have to checkpoint when this worker stops them")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--slots-on-machine", options.slots_on_machine,
                   "slots of all workers on this machine, which share its cores (default: N)")
        ->check(CLI::PositiveNumber);
    app.add_option("--peak-cache", options.peak_cache,
                   "file that keeps the measured peak of this machine")
        ->capture_default_str();
    app.add_option("--root", options.roots,
                   "NAME=PATH: a directory below which job paths must lie; several times. Without "
                   "any, jobs may name every path")
        ->check(words_of(parse_declared_root));
    app.set_version_flag("--version", "ringmaster-worker " RM_VERSION);
    add_man_flag(app, "ringmaster-worker", RM_VERSION,
                 {"ringmaster(1)", "ringmaster-controller(8)"},
                 [](const std::string& page) { throw CLI::CallForVersion(page, 0); });
}

}  // namespace

Status check_data_address(const std::string& address) {
    in_addr v4{};
    in6_addr v6{};
    const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4) == 1;
    if (!is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6) != 1) {
        return invalid_argument("data address '{}' is not a numeric IP address", address);
    }
    if (is_v4 ? is_private_v4(ntohl(v4.s_addr)) : is_private_v6(v6)) return {};
    return invalid_argument(
        "data address {} is public and what ranks send is not encrypted; use a private one",
        address);
}

CommandLine parse_command_line(int argc, char** argv) {
    CLI::App app("Ringmaster worker: offers the devices of this machine to a controller",
                 "ringmaster-worker");
    WorkerOptions options;
    options.peak_cache = default_peak_cache();
    Texts texts;
    add_options(app, options, texts);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return {.options = std::nullopt, .exit_code = app.exit(error) == 0 ? 0 : kExitUsage};
    }
    if (const auto address = check_address(options.controller, options.security.wire()); !address) {
        std::cerr << "--controller: " << address.error().message << '\n';
        return {.options = std::nullopt, .exit_code = kExitUsage};
    }
    if (const auto roots = parse_declared_roots(options.roots); !roots) {
        std::cerr << "--root: " << roots.error().message << '\n';
        return {.options = std::nullopt, .exit_code = kExitUsage};
    }
    options.metrics.scrapers.client_ca = options.security.ca;
    options.num_devices = *parse_cpu_devices(texts.devices);
    options.probe_ports.reset();
    if (texts.probe_ports != "none") options.probe_ports = *parse_port_range(texts.probe_ports);
    options.orphan.mode = *parse_orphan_mode(texts.orphan);
    if (options.slots_on_machine == 0) options.slots_on_machine = options.num_devices;
    if (options.slots_on_machine < options.num_devices) {
        std::cerr << format("--slots-on-machine {} is less than this worker's own {} slots\n",
                            options.slots_on_machine, options.num_devices);
        return {.options = std::nullopt, .exit_code = kExitUsage};
    }
    return {.options = std::move(options)};
}

}  // namespace rm
