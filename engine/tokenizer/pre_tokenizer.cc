#include "engine/tokenizer/pre_tokenizer.h"

namespace rm {

PieceCutter::PieceCutter(const PreTokenizer& pre_tokenizer) {
    for (const PreTokenizer::Stage& stage : pre_tokenizer.stages) {
        Stage& mine = stages_.emplace_back();
        if (stage.kind == PreTokenizer::Kind::split) mine.matcher.emplace(stage.regex.front());
    }
}

}  // namespace rm
