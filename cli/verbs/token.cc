#include <filesystem>

#include "cli/show/job_text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/join.grpc.pb.h"
#include "service/state_dir.h"

namespace rm {
namespace {

struct CreateOptions : VerbOptions {
    std::string role = add("--role", role, "What it is for [join]", one_word_of("join"), "join");
    std::string expires =
        add("--expires", expires, "How long it is good [1h]", {.type = "SPAN"}, "1h");
    int uses = add("--uses", uses, "How many machines may join with it [1]", number_from(1), 1);
    std::string output =
        add("-o,--output", output, "Write it to FILE, which only its owner can read [print it]",
            {.type = "FILE"});
};

struct TokenListOptions : VerbOptions {
    OutputFormat output = add_output(output, "table|json|yaml");
};

struct RevokeOptions : VerbOptions {
    std::string id =
        add("TOKEN", id, "Its id, as `token ls` shows it, or the beginning of it", required_text());
};

std::string state_of(const pb::JoinToken& token, WallTime now) {
    if (token.has_revoked()) return "revoked";
    if (from_proto(token.expires()) <= now) return "expired";
    return token.used() >= token.uses() ? "used up" : "good";
}

Table token_table(const std::vector<pb::JoinToken>& tokens, WallTime now) {
    TableOf table(tokens);
    table.left("TOKEN", &pb::JoinToken::id);
    table.left("STATE", [now](auto& token) {
        const std::string state = state_of(token, now);
        return Cell(state, state == "good" ? Color::green : Color::none);
    });
    table.right("USED", [](auto& token) { return format("{}/{}", token.used(), token.uses()); });
    table.left("EXPIRES", [](auto& token) { return time_text(token.expires()); });
    table.left("CREATED", [](auto& token) { return time_text(token.created()); });
    table.left("BY", &pb::JoinToken::creator);
    return table.done();
}

// The command to start on a machine.
std::string join_line(const pb::CreateTokenReply& made, const std::string& file) {
    return format(
        "ringmaster-worker --state /var/lib/ringmaster-worker --controller {} --join-token {} "
        "--ca-fingerprint {}",
        made.address(), file.empty() ? "FILE" : file, made.ca_fingerprint());
}

Result<ExitCode> run_create(const CreateOptions& options, VerbContext& context) {
    const auto valid = within("--expires", parse_seconds(options.expires));
    if (!valid) return complain(context.console, valid.error(), ExitCode::usage);
    if (!options.output.empty() && std::filesystem::exists(options.output)) {
        return make_error(ErrorCode::already_exists, "{} exists and is not overwritten",
                          options.output);
    }
    RM_TRY(Client client, context.connect());
    pb::CreateTokenRequest request;
    request.set_valid_seconds(valid->value);
    request.set_uses(options.uses);
    RM_TRY(const pb::CreateTokenReply made, client.call(&pb::TokenService::Stub::Create, request));
    if (options.output.empty()) {
        context.console.out.stream << made.token() << '\n';
    } else {
        RM_RETURN_IF_ERROR(write_file_atomically(options.output, made.token() + "\n"));
        context.console.out.stream << options.output << '\n';
    }
    context.console.note(
        format("token {}: {} may join until {}. On each, with the token in a file "
               "that only its worker's user can read:",
               made.id(), counted(made.kept().uses(), "machine"),
               to_iso8601(from_proto(made.kept().expires()))));
    context.console.note(join_line(made, options.output));
    return ExitCode::ok;
}

Result<ExitCode> run_list(const TokenListOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const pb::ListTokensReply reply, client.call(&pb::TokenService::Stub::List, {}));
    const std::vector<pb::JoinToken> tokens(reply.tokens().begin(), reply.tokens().end());
    const WallTime now = context.clock.wall();
    print_list(context.console.out, options.output, tokens,
               [&](Detail) { return token_table(tokens, now); });
    return ExitCode::ok;
}

Result<ExitCode> run_revoke(const RevokeOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    pb::RevokeTokenRequest request;
    request.set_id(options.id);
    RM_TRY(const pb::JoinToken token, client.call(&pb::TokenService::Stub::Revoke, request));
    context.console.out.stream << token.id() << '\n';
    context.console.note(
        format("no machine joins with token {} any more; nodes that have joined with it stay",
               token.id()));
    return ExitCode::ok;
}

}  // namespace

Verb token_verb() {
    return {"token",
            "Make, list and revoke the tokens with which machines join",
            nullptr,
            {verb_of("create", "Make a token: print it once, and what to start on a machine",
                     run_create,
                     {{"ringmaster token create --role join --expires 1h --uses 20",
                       "twenty machines may join within the hour"}}),
             verb_of("ls", "List the tokens, without their secrets", run_list,
                     {{"ringmaster token ls", ""}}),
             verb_of("revoke", "Let no machine join with a token any more", run_revoke,
                     {{"ringmaster token revoke 3f8a", "nodes that have joined with it stay"}})}};
}

}  // namespace rm
