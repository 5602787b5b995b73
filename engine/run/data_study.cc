#include "engine/run/data_study.h"

#include "engine/run/rank_parts.h"

namespace rm {

void DataStudy::begin(RankParts& parts) {
    const JobSpec& spec = parts.config.spec;
    if (!parts.is_first() || !spec.reads_data()) return;
    if (parts.checkpointer.enabled() || !spec.checkpoint.from.empty()) {
        hash_.emplace([&parts](Activity& activity) {
            return parts.data->content_hash({.activity = &activity, .faults = &parts.faults});
        });
    }
    if (spec.evaluation.tokens > 0) {
        entropies_.emplace(
            [&parts](Activity& activity) { return parts.data->entropies(activity); });
    }
}

Result<std::string> DataStudy::content_hash(Activity& waiting) const {
    RM_CHECK(hash_.has_value(), "this rank does not hash the data");
    return hash_->wait(waiting);
}

std::optional<Result<std::optional<TextEntropies>>> DataStudy::entropies() const {
    constexpr Seconds kMostWait{2};
    RM_CHECK(entropies_.has_value(), "this rank does not measure the text");
    return entropies_->wait_for(kMostWait);
}

}  // namespace rm
