#include "cli/verb.h"

#include "base/text.h"

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

OptionRules required_text() {
    return {.required = true, .check = not_empty()};
}

OptionRules number_from(std::int64_t least) {
    return {.type = "N", .check = whole_number(least)};
}

OptionRules one_word_of(const std::string& words) {
    const std::vector<std::string_view> all = split(words, '|');
    return {.type = words, .check = one_of({all.begin(), all.end()})};
}

OptionRules required(OptionRules rules) {
    rules.required = true;
    return rules;
}

}  // namespace rm
