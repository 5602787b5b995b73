#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

// The regular expressions of tokenizer.json. They are written for Oniguruma (Ruby syntax, UTF-8)
// and run by PCRE2 (10.40 or newer, UTF and UCP, compiled to machine code where the system allows).
namespace rm {

// The same expression in PCRE2's syntax: `\s` and `\S` become explicit sets, because PCRE2 counts
// U+180E as white space and Unicode does not, and `\uHHHH` becomes `\x{HHHH}`. Syntax both read
// differently, or only one knows, is unimplemented, by name: `\w`, `\b`, `\h`, `^`, `$`, a set in a
// set, `&&`, `{,n}`, `{n}+`, and groups other than (), (?:), (?i:), (?>) and look-around.
Result<std::string> to_pcre2(std::string_view pattern);

// A compiled expression. Immutable, shared between threads.
class Regex {
public:
    // invalid_argument: not an expression; unimplemented: see to_pcre2, or one that matches the
    // empty text, or a build without PCRE2.
    static Result<Regex> compile(std::string_view pattern);
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

private:
    friend class RegexMatcher;
    struct Code;
    explicit Regex(std::unique_ptr<Code> code);
    std::unique_ptr<Code> code_;
};

struct RegexMatch {
    std::size_t begin = 0;
    std::size_t end = 0;  // greater than begin
};

// One thread's use of a Regex, which it borrows.
class RegexMatcher {
public:
    explicit RegexMatcher(const Regex& regex);
    RegexMatcher(RegexMatcher&&) noexcept;
    RegexMatcher& operator=(RegexMatcher&&) noexcept;
    ~RegexMatcher();

    // The first match at or after byte `from` of `text`, which must be well-formed UTF-8.
    // resource_exhausted when the expression needs more memory or steps than it may have.
    Result<std::optional<RegexMatch>> find(std::string_view text, std::size_t from);

private:
    struct Scratch;
    std::unique_ptr<Scratch> scratch_;
};

}  // namespace rm
