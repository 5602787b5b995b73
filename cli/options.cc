#include "cli/options.h"

#include "cli/text.h"

namespace rm {

OptionRules required_text() {
    return {.required = true, .check = not_empty()};
}

OptionRules number_from(std::int64_t least) {
    return {.type = "N", .check = whole_number(least)};
}

OptionRules one_word_of(const std::string& words) {
    return {.type = words, .check = one_of(split(words, '|'))};
}

OptionRules required(OptionRules rules) {
    rules.required = true;
    return rules;
}

}  // namespace rm
