#pragma once

#include <string_view>
#include <vector>

#include "engine/tokenizer/regex.h"

namespace rm {

// How a text is cut into the words that byte pair encoding works on: each stage cuts every piece of
// the stage before it. Immutable.
struct PreTokenizer {
    enum class Kind {
        split,       // at every match: matches and what lies between them are pieces
        space_first  // a piece that begins with no space gets one
    };
    struct Stage {
        Kind kind;
        std::vector<Regex> regex;  // one for split
    };
    std::vector<Stage> stages;
};

// One thread's use of a PreTokenizer, which it borrows.
class PieceCutter {
public:
    explicit PieceCutter(const PreTokenizer& pre_tokenizer) {
        for (const PreTokenizer::Stage& stage : pre_tokenizer.stages) {
            auto& matcher = matchers_.emplace_back();
            if (stage.kind == PreTokenizer::Kind::split) matcher.emplace(stage.regex.front());
        }
    }

    // Calls visit(piece) for every piece of `text` in order; a piece lives as long as the call.
    template <typename Visit>
    Status cut(std::string_view text, const Visit& visit, std::size_t stage = 0) {
        if (text.empty()) return {};
        if (stage == matchers_.size()) {
            visit(text);
            return {};
        }
        if (!matchers_[stage]) return cut_with_space(text, visit, stage);
        std::size_t done = 0;
        while (done < text.size()) {
            RM_TRY(const auto match, matchers_[stage]->find(text, done));
            const std::size_t begin = match ? match->begin : text.size();
            RM_RETURN_IF_ERROR(cut(text.substr(done, begin - done), visit, stage + 1));
            if (!match) return {};
            RM_RETURN_IF_ERROR(cut(text.substr(begin, match->end - begin), visit, stage + 1));
            done = match->end;
        }
        return {};
    }

private:
    template <typename Visit>
    Status cut_with_space(std::string_view text, const Visit& visit, std::size_t stage) {
        if (text.front() == ' ') return cut(text, visit, stage + 1);
        const std::string spaced = " " + std::string(text);
        return cut(spaced, visit, stage + 1);
    }

    std::vector<std::optional<RegexMatcher>> matchers_;  // by stage; nothing: space_first
};

}  // namespace rm
