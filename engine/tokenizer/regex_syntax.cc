#include <algorithm>
#include <array>
#include <cctype>

#include "engine/tokenizer/regex.h"

namespace rm {
namespace {

// White_Space (see utf8.h) and everything else, as the inside of a set.
constexpr std::string_view kSpace =
    R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x00-\x08\x0E-\x1F!-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
constexpr std::string_view kSameEscapes = "dDnrtf";
constexpr std::array<std::string_view, 7> kGroups = {
    "(?:", "(?i:", "(?>", "(?=", "(?!", "(?<=", "(?<!"};

// Walks an expression once, writing it out again.
class Translation {
public:
    explicit Translation(std::string_view pattern) : pattern_(pattern) {}
    Result<std::string> run();

private:
    Error unsupported(std::string_view what) const {
        return make_error(ErrorCode::unimplemented,
                          "the expression {} has {} at byte {}, which is not supported", pattern_,
                          what, at_);
    }
    bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
    void copy(std::size_t bytes) {
        out_ += pattern_.substr(at_, bytes);
        at_ += bytes;
    }
    Status step();
    Status in_set();
    Status escape();
    Status code_unit();
    Status group();
    Status interval();

    std::string_view pattern_;
    std::size_t at_ = 0;
    bool in_set_ = false;
    std::string out_;
};

Status Translation::code_unit() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    const bool hex = digits.size() == 4 && std::all_of(digits.begin(), digits.end(), [](char c) {
                         return std::isxdigit(static_cast<unsigned char>(c)) != 0;
                     });
    if (!hex) return unsupported("\\u without four hexadecimal digits");
    out_ += format("\\x{{{}}}", digits);
    at_ += 6;
    return {};
}

Status Translation::escape() {
    if (at_ + 1 == pattern_.size()) return unsupported("a lone \\");
    const char letter = pattern_[at_ + 1];
    if (letter == 's' || letter == 'S') {
        const std::string_view set = letter == 's' ? kSpace : kNotSpace;
        out_ += in_set_ ? std::string(set) : format("[{}]", set);
        at_ += 2;
        return {};
    }
    if (letter == 'u') return code_unit();
    if (letter == 'p' || letter == 'P' || letter == 'x') {
        const std::size_t end = pattern_.find('}', at_);
        if (pattern_.substr(at_ + 2, 1) != "{" || end == std::string_view::npos) {
            return unsupported(format("\\{} without {{}}", letter));
        }
        copy(end + 1 - at_);
        return {};
    }
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) == 0;
    if (plain || kSameEscapes.find(letter) != std::string_view::npos) {
        copy(2);
        return {};
    }
    return unsupported(pattern_.substr(at_, 2));
}

Status Translation::in_set() {
    if (next_is("[")) return unsupported("a set inside a set");
    if (next_is("&&")) return unsupported("&&");
    if (next_is("]")) in_set_ = false;
    copy(1);
    return {};
}

Status Translation::group() {
    if (!next_is("(?")) {
        copy(1);
        return {};
    }
    for (const std::string_view known : kGroups) {
        if (!next_is(known)) continue;
        copy(known.size());
        return {};
    }
    return unsupported(pattern_.substr(at_, 4));
}

// In Ruby's syntax {,n} is a count and a + after a count is not possessive.
Status Translation::interval() {
    const std::size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) return unsupported("a { without }");
    const std::string_view inside = pattern_.substr(at_ + 1, end - at_ - 1);
    const bool count = !inside.empty() && inside.front() != ',' &&
                       inside.find_first_not_of("0123456789,") == std::string_view::npos;
    if (!count) return unsupported(format("{{{}}}", inside));
    if (pattern_.substr(end + 1, 1) == "+") return unsupported(format("{{{}}}+", inside));
    copy(end + 1 - at_);
    return {};
}

Status Translation::step() {
    if (next_is("\\")) return escape();
    if (in_set_) return in_set();
    if (next_is("(")) return group();
    if (next_is("{")) return interval();
    if (next_is("^") || next_is("$")) return unsupported(pattern_.substr(at_, 1));
    if (next_is("[")) {
        in_set_ = true;
        copy(next_is("[^") ? 2 : 1);
        if (next_is("]")) return unsupported("an empty set");
        return {};
    }
    copy(1);
    return {};
}

Result<std::string> Translation::run() {
    while (at_ < pattern_.size())
        RM_RETURN_IF_ERROR(step());
    if (in_set_) return unsupported("a [ without ]");
    return std::move(out_);
}

}  // namespace

Result<std::string> to_pcre2(std::string_view pattern) {
    return Translation(pattern).run();
}

}  // namespace rm
