#include "engine/data/tokens/stored_tokens.h"

#include <algorithm>

namespace rm {
namespace {

class StoredReader : public TokenReader {
public:
    explicit StoredReader(const StoredTokens& tokens) : tokens_(tokens) {}
    Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) override {
        return tokens_.read(document, offset, out);
    }

private:
    const StoredTokens& tokens_;
};

}  // namespace

std::unique_ptr<TokenReader> StoredTokens::make_reader() const {
    return std::make_unique<StoredReader>(*this);
}

Status check_vocabulary(std::string_view where, std::int64_t first, std::span<const TokenId> ids,
                        std::int64_t vocabulary) {
    const auto bad =
        std::ranges::find_if(ids, [vocabulary](TokenId id) { return id < 0 || id >= vocabulary; });
    if (bad == ids.end()) return {};
    return make_error(ErrorCode::out_of_range,
                      "{}: token {} is {}; the model's vocabulary has ids 0 to {}", where,
                      first + (bad - ids.begin()), *bad, vocabulary - 1);
}

}  // namespace rm
