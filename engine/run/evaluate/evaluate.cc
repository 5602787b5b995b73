#include "engine/run/evaluate/evaluate.h"

#include <cmath>

#include "engine/json/json_members.h"
#include "engine/run/evaluate/position_sums.h"

namespace rm {
namespace {

// Nothing: no held-out token can be scored. Sequence n goes to data rank n mod data as in training.
Result<std::optional<StepBatch>> held_out_batch(RankParts& parts) {
    const auto samples = parts.data->evaluation_samples(parts.engine.layout().context,
                                                        parts.config.spec.evaluation.tokens);
    if (!samples) {
        if (samples.error().code != ErrorCode::invalid_argument) return samples.error();
        parts.note(format("no evaluation: {}", samples.error().message));
        return std::optional<StepBatch>();
    }
    if (samples->empty()) return std::optional<StepBatch>();
    const StepBatch batch = parts.engine.cut(*samples);
    if (batch.num_targets > 0) return std::optional(batch);
    parts.note("no evaluation: no held-out token has a target");
    return std::optional<StepBatch>();
}

// Missing in the report while the text is still being read.
std::optional<TextEntropies> entropies(const RankParts& parts) {
    const auto found = parts.study.entropies();
    if (!found) return std::nullopt;
    if (*found) return **found;
    parts.note(format("no entropies of the text: {}", found->error().message));
    return std::nullopt;
}

void report(const RankParts& parts, EvaluationReport evaluation) {
    if (const auto text = entropies(parts)) {
        evaluation.unigram_entropy = text->unigram;
        evaluation.bigram_entropy = text->bigram;
    }
    parts.append_metrics(members_to_json(evaluation).dump());
    parts.env.observer.on_evaluation(evaluation);
}

// Collective. Tensor ranks have the same tokens: one of them counts.
std::vector<PositionLoss> by_position(RankParts& parts, const StepBatch& batch,
                                      const TokenLosses& losses) {
    const RankLayout& layout = parts.engine.layout();
    PositionSums sums(layout.context);
    if (layout.tensor_index == 0) {
        for (std::size_t i = 0; i < batch.micro_batches.size(); ++i)
            sums.add(batch.micro_batches[i], losses.by_micro_batch[i]);
    }
    sums.set_numbers(parts.meeting.sums(sums.numbers()));
    return sums.means();
}

}  // namespace

Status evaluate(RankParts& parts, RunState& state) {
    if (parts.config.spec.evaluation.tokens == 0 || state.is_evaluated()) return {};
    parts.env.progress.phase = Phase::evaluation;
    RM_TRY(const std::optional<StepBatch> batch, held_out_batch(parts));
    if (!batch) return {};
    const std::int64_t step = state.position.step;
    const TokenLosses losses = parts.engine.trainer().losses(*batch);
    state.evaluated = {step, std::isfinite(losses.total)};
    EvaluationReport evaluation{.step = step, .targets = batch->num_targets};
    evaluation.loss = losses.total / static_cast<double>(batch->num_targets);
    evaluation.by_position = by_position(parts, *batch, losses);
    if (parts.is_first()) report(parts, std::move(evaluation));
    return {};
}

}  // namespace rm
