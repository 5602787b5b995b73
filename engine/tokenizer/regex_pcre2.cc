#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "engine/tokenizer/regex.h"

namespace rm {
namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;  // at most; it grows as needed
constexpr std::size_t kMaxPatternBytes = 16384;

template <auto* kFree>
struct Freed {
    template <typename T>
    void operator()(T* pointer) const {
        kFree(pointer);
    }
};
using CodeHandle = std::unique_ptr<pcre2_code, Freed<&pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freed<&pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freed<&pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freed<&pcre2_jit_stack_free>>;

std::string words_of(int error) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct Regex::Code {
    CodeHandle handle;
};

struct RegexMatcher::Scratch {
    const pcre2_code* code = nullptr;
    MatchData data;
    MatchContext context;
    JitStack stack;
};

Result<Regex> Regex::compile(std::string_view pattern) {
    if (pattern.size() > kMaxPatternBytes) {
        return invalid_argument("an expression of {} bytes; at most {} are read", pattern.size(),
                                kMaxPatternBytes);
    }
    RM_TRY(const std::string translated, to_pcre2(pattern));
    int error = 0;
    PCRE2_SIZE offset = 0;
    CodeHandle code(pcre2_compile(units(translated), translated.size(), PCRE2_UTF | PCRE2_UCP,
                                  &error, &offset, nullptr));
    if (code == nullptr) {
        return invalid_argument("{} is not a regular expression: {} (byte {} of {})", pattern,
                                words_of(error), offset, translated);
    }
    std::uint32_t matches_empty = 0;
    pcre2_pattern_info(code.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty != 0) {
        return make_error(ErrorCode::unimplemented,
                          "the expression {} matches the empty text, which is not supported",
                          pattern);
    }
    // Where machine code is forbidden the interpreter runs the same expression, only slower.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return Regex(std::make_unique<Code>(Code{std::move(code)}));
}

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

RegexMatcher::RegexMatcher(const Regex& regex) : scratch_(std::make_unique<Scratch>()) {
    scratch_->code = regex.code_->handle.get();
    scratch_->data.reset(pcre2_match_data_create(1, nullptr));
    scratch_->context.reset(pcre2_match_context_create(nullptr));
    scratch_->stack.reset(pcre2_jit_stack_create(std::size_t{32} << 10, kStackBytes, nullptr));
    RM_CHECK(scratch_->data && scratch_->context, "no memory for matching");
    pcre2_jit_stack_assign(scratch_->context.get(), nullptr, scratch_->stack.get());
}
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;
RegexMatcher& RegexMatcher::operator=(RegexMatcher&&) noexcept = default;
RegexMatcher::~RegexMatcher() = default;

Result<std::optional<RegexMatch>> RegexMatcher::find(std::string_view text, std::size_t from) {
    const int found =
        pcre2_match(scratch_->code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK,
                    scratch_->data.get(), scratch_->context.get());
    if (found == PCRE2_ERROR_NOMATCH) return std::optional<RegexMatch>();
    if (found < 0) {
        return make_error(ErrorCode::resource_exhausted,
                          "the tokenizer's regular expression fails at byte {}: {}", from,
                          words_of(found));
    }
    const PCRE2_SIZE* place = pcre2_get_ovector_pointer(scratch_->data.get());
    return std::optional(RegexMatch{place[0], place[1]});
}

}  // namespace rm
