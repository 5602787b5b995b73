#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/evaluate/examine.h"
#include "engine/generate/inference_room.h"
#include "engine/run/rank_parts.h"
#include "engine/run/run_state.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// The suites and prompts of a job's evaluations. All is collective, between steps.
class Examination {
public:
    explicit Examination(RankParts& parts) : parts_(parts) {}

    // Opens the tokenizer and checks, before anything is trained, that the longest text has room
    // beside the state of training. Does nothing where the job examines nothing.
    Status start();

    // Runs the suites and continues the prompts that are due after the latest step. True: it ran
    // some, and the engine has left the stage that it was in. One that fails is an alarm; only a
    // job without steps ends with it.
    Result<bool> examine(const RunState& state);

private:
    const EvaluationSpec& spec() const { return parts_.config.spec.evaluation; }
    bool examines() const { return !spec().suites.empty() || !spec().prompts.empty(); }
    TrainedModel trained(const TrainPosition& position) const;
    Status open();
    Status encode_prompts();
    Status check_same_tokenizer();
    Status check_room();
    InferenceRoom room(const TrainedModel& trained, std::int64_t tokens,
                       std::int64_t new_tokens) const;
    Status enter(const InferenceRoom& room);
    MakeExaminer examiner(const TrainedModel& trained);
    bool asked_to_stop();
    Status run(const SuiteSpec& suite, const TrainedModel& trained, std::int64_t step);
    Status continue_prompts(const TrainedModel& trained, std::int64_t step);
    Status continue_prompt(std::size_t index, const TrainedModel& trained, std::int64_t step);
    Status judge(const Status& status, const std::string& what);

    RankParts& parts_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::vector<std::vector<TokenId>> prompts_;  // of spec().prompts
};

}  // namespace rm
