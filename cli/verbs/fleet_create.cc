#include <algorithm>

#include "base/text.h"
#include "cli/client/calls.h"
#include "cli/fleet/machine_text.h"
#include "cli/fleet/options.h"
#include "cli/fleet/startup_script.h"
#include "cli/verbs/common.h"
#include "service/job_file/price_list.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr Seconds kLongestLook{60};  // for machines of a request without an answer

struct FleetCreateOptions : FleetOptions {
    std::string shape = add("--shape", shape, "Their shape, of `fleet shapes`",
                            {.type = "SHAPE", .required = true});
    int count =
        add("--count", count, "How many [1]", {.type = "N", .check = whole_number(1, 1000)}, 1);
    std::string name =
        add("--name", name, "Named PREFIX-1, PREFIX-2, ... [ring-xxxxxx]", {.type = "PREFIX"});
    std::string location =
        add("--location", location, "Where, such as us-east1-a", {.type = "LOCATION"});
    std::string image = add("--image", image, "Image of their disks", {.type = "IMAGE"});
    std::string ssh_key =
        add("--ssh-key", ssh_key, "Public key that may log in", {.type = "FILE", .required = true});
    std::string script =
        add("--startup-script", script, "Runs once on each, as root", {.type = "FILE"});
    std::string join_token =
        add("--join-token", join_token,
            "Instead of a script: start the worker of the image with this token, of `ringmaster "
            "token create --role join`",
            {.type = "FILE", .needs = "--ca-fingerprint", .excludes = "--startup-script"});
    std::string controller =
        add("--controller", controller, "Which they join", {.type = "HOST:PORT"});
    std::string fingerprint =
        add("--ca-fingerprint", fingerprint, "Of the controller's CA certificate: sha256:HEX",
            {.type = "SHA256", .needs = "--controller"});
    std::vector<std::string> roots =
        add("--root", roots, "Directories that jobs may use there, as on the other workers",
            {.type = "NAME=PATH", .needs = "--join-token"});
    std::string prices =
        add("--prices", prices, "What devices cost (docs/formats/prices.md)", {.type = "FILE"});
    double price = add("--price", price, "What one machine costs per hour, in USD",
                       {.type = "AMOUNT", .excludes = "--prices"});
    std::string timeout =
        add("--timeout", timeout, "How long to wait for them [15m]", {.type = "SPAN"}, "15m");
    bool yes = add("-y,--yes", yes, "Do not ask");
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

Status check_prefix(const std::string& name) {
    const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == name.npos;
    if (plain && name.size() <= 40 && !name.starts_with('-') && !name.ends_with('-')) return {};
    return invalid_argument("--name '{}': lower-case letters, digits and -, at most 40", name);
}

Result<std::string> read_public_key(const std::string& path) {
    RM_TRY(const std::string text, read_small_file(path));
    const std::string key(trimmed(text));
    const bool is_public =
        key.starts_with("ssh-") || key.starts_with("ecdsa-") || key.starts_with("sk-");
    if (is_public && key.find('\n') == key.npos) return key;
    return invalid_argument(
        "--ssh-key {} holds no public key of one line; its name usually ends "
        "in .pub",
        path);
}

Result<std::string> script_of(const FleetCreateOptions& options) {
    if (!options.script.empty()) return read_small_file(options.script);
    if (options.join_token.empty()) return std::string();
    return startup_script({.controller = options.controller,
                           .token_file = options.join_token,
                           .ca_fingerprint = options.fingerprint,
                           .roots = options.roots});
}

Result<MachineOrder> order_of(const FleetCreateOptions& options) {
    MachineOrder order{.prefix = options.name,
                       .count = options.count,
                       .shape = options.shape,
                       .location = options.location,
                       .image = options.image};
    if (order.prefix.empty()) order.prefix = "ring-" + random_request_id().substr(0, 6);
    RM_RETURN_IF_ERROR(check_prefix(order.prefix));
    RM_TRY(order.ssh_public_key, read_public_key(options.ssh_key));
    RM_TRY(order.startup_script, script_of(options));
    return order;
}

Result<Shape> find_shape(CrusoeApi& api, const std::string& name) {
    RM_TRY(const std::vector<Shape> shapes, api.shapes());
    for (const Shape& shape : shapes)
        if (shape.name == name) return shape;
    return make_error(ErrorCode::not_found, "no shape is named '{}'; there are {}", name,
                      join(shapes, ", ", [](const Shape& shape) { return shape.name; }));
}

Result<MachinePrice> price_of(const FleetCreateOptions& options, const Shape& shape) {
    if (options.price > 0)
        return MachinePrice{options.price, kDollars,
                            format("{} per machine and hour", money_text(options.price, kDollars))};
    if (options.prices.empty()) return MachinePrice{};
    RM_TRY(const PriceList prices, read_price_list(options.prices));
    return price_of(shape, prices);
}

// Nothing of the order is there yet: a machine of that name seen later is one of this order.
Status check_free(CrusoeApi& api, const MachineOrder& order) {
    RM_TRY(const std::vector<Machine> all, api.machines());
    const std::vector<Machine> taken = named(all, names_of(order));
    if (taken.empty()) return {};
    return make_error(ErrorCode::already_exists,
                      "{} {} taken: {}; nothing was created. Give another --name",
                      plural(taken.size(), "name"), taken.size() == 1 ? "is" : "are",
                      join(taken, ", ", [](const Machine& machine) { return machine.name; }));
}

std::string why_of(const CloudOperation& operation) {
    const std::string& code = operation.code;
    if (code.empty() && operation.message.empty()) return "Crusoe gave no reason";
    return operation.message.empty() ? code : format("{}: {}", code, operation.message);
}

// The machines that an order has made.
struct Created {
    std::vector<Machine> machines;
    std::string why;  // not all of them; empty: all are there
    Wait how = Wait::ended;
};

Result<Created> look_for(CrusoeApi& api, const MachineOrder& order, const Error& lost,
                         WaitRules rules, const Signals& signals, Console& console) {
    console.note(
        format("{}; looking for what came into being (nothing is sent again)", lost.message));
    rules.limit = std::min(rules.limit, kLongestLook);
    RM_TRY(std::vector<Machine> found, find_created(api, names_of(order), rules, signals));
    return Created{std::move(found), "the answer to the request was lost", Wait::ended};
}

Result<Created> carry_out(CrusoeApi& api, const MachineOrder& order, const WaitRules& rules,
                          const Signals& signals, Console& console) {
    const Result<CloudOperation> begun = api.create(order);
    if (!begun && begun.error().code == ErrorCode::unknown)
        return look_for(api, order, begun.error(), rules, signals, console);
    if (!begun) return within("nothing was created", begun.error());
    console.note(format("Crusoe works on it (operation {})", begun->id));
    const Result<Waited> waited = wait_for_operation(api, *begun, rules, signals);
    if (!waited) return look_for(api, order, waited.error(), rules, signals, console);
    RM_TRY(const std::vector<Machine> all, api.machines());
    Created created{named(all, names_of(order)), "", waited->how};
    if (waited->last.state == OperationState::failed) created.why = why_of(waited->last);
    if (waited->how != Wait::ended) created.why = "Crusoe still works on it";
    return created;
}

void say_each(const Created& created, const MachineOrder& order, Console& console) {
    for (const std::string& name : names_of(order)) {
        const std::vector<Machine> found = named(created.machines, {name});
        if (found.empty()) {
            console.note(format("{}: not created ({})", name,
                                created.why.empty() ? "Crusoe lists it not" : created.why));
        } else {
            console.note(format("{}: {}{}", name, to_string(found[0].state),
                                found[0].addresses.empty() ? "" : ", " + found[0].addresses[0]));
        }
    }
}

void print_created(const Created& created, OutputFormat format, const Output& out) {
    if (is_document(format)) return print_json(out.stream, machines_json(created.machines), format);
    for (const Machine& machine : created.machines)
        out.stream << out.data(machine.name) << '\n';
}

ExitCode code_of(const Created& created, const MachineOrder& order) {
    if (created.how == Wait::interrupted) return ExitCode::interrupted;
    if (created.how == Wait::timed_out) return ExitCode::timed_out;
    if (created.machines.size() == usize(order.count)) return ExitCode::ok;
    return created.machines.empty() ? ExitCode::rejected : ExitCode::error;
}

void say_rest(const Created& created, const MachineOrder& order, Console& console) {
    const std::size_t made = created.machines.size();
    if (made == usize(order.count)) return;
    console.note(format(
        "{} of {} were created{}", made, counted(order.count, "machine"),
        made == 0 ? ""
                  : " and cost money; `ringmaster fleet delete " +
                        join(created.machines, " ", [](const Machine& m) { return m.name; }) +
                        "` gives them back"));
}

Result<ExitCode> run_fleet_create(const FleetCreateOptions& options, VerbContext& context) {
    Console& console = context.console;
    RM_TRY(const MachineOrder order, order_of(options));
    RM_TRY(const WaitRules rules, wait_rules(options.timeout));
    RM_TRY(CrusoeApi api, open_cloud(options, context));
    RM_TRY(const Shape shape, find_shape(api, order.shape));
    RM_TRY(const MachinePrice price, price_of(options, shape));
    RM_RETURN_IF_ERROR(check_free(api, order));
    for (const std::string& line : order_lines(order, shape, price))
        console.note(line);
    RM_TRY(const bool agreed, confirmed(console, "Create them?", options.yes));
    if (!agreed) return ExitCode::interrupted;
    const Signals signals;
    RM_TRY(const Created created, carry_out(api, order, rules, signals, console));
    say_each(created, order, console);
    say_rest(created, order, console);
    print_created(created, options.output, console.out);
    return code_of(created, order);
}

}  // namespace

Verb fleet_create_verb() {
    return verb_of(
        "create", "Create machines: shows what they cost, asks, waits", run_fleet_create,
        {{"ringmaster fleet create --shape l40s-48gb.10x --count 4 --ssh-key ~/.ssh/id.pub "
          "--prices prices.yaml",
          "shows cost and asks"},
         {"ringmaster fleet create --shape l40s-48gb.1x --ssh-key id.pub --join-token t "
          "--controller 10.0.0.1:7070 --ca-fingerprint sha256:...",
          "it becomes a worker by itself"}});
}

}  // namespace rm
