#pragma once

#include <optional>
#include <string>

#include "engine/data/text_source.h"
#include "engine/train/background.h"
#include "engine/train/rank_parts.h"

namespace rm {

// Facts about the data that rank 0 needs and that take much reading. It reads while the ranks load
// and train. The other ranks have none.
class DataStudy {
public:
    DataStudy() = default;
    DataStudy(const DataStudy&) = delete;
    DataStudy& operator=(const DataStudy&) = delete;

    // Begins what the job needs. Borrows `parts`, which outlives this.
    void begin(RankParts& parts);

    // Rank 0 of a job that saves or resumes; waits until it is known.
    Result<std::string> content_hash(Activity& waiting) const;
    // Rank 0 of a job that evaluates. Outer: nothing while the text is still being read. Inner:
    // nothing where its tokens are not bytes.
    std::optional<Result<std::optional<TextEntropies>>> entropies() const;

private:
    std::optional<Background<std::string>> hash_;
    std::optional<Background<std::optional<TextEntropies>>> entropies_;
};

}  // namespace rm
