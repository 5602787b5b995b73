#include "engine/tokenizer/regex.h"

namespace rm {

struct Regex::Code {};
struct RegexMatcher::Scratch {};

Result<Regex> Regex::compile(std::string_view pattern) {
    return make_error(ErrorCode::unimplemented,
                      "this build has no PCRE2, which the expression {} needs: configure with "
                      "libpcre2-dev installed",
                      pattern);
}
Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

// No Regex is ever made here, so no matcher either.
RegexMatcher::RegexMatcher(const Regex&) {}
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;
RegexMatcher& RegexMatcher::operator=(RegexMatcher&&) noexcept = default;
RegexMatcher::~RegexMatcher() = default;
Result<std::optional<RegexMatch>> RegexMatcher::find(std::string_view, std::size_t) {
    return std::optional<RegexMatch>();
}

}  // namespace rm
