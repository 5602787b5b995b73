#include "engine/run/evaluate/examination.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "engine/evaluate/suite.h"
#include "engine/generate/continuation.h"
#include "engine/generate/generator.h"
#include "engine/json/json_members.h"
#include "spec/rope/stage_rope.h"

namespace rm {
namespace {

// On one line; bytes that are no text are replaced.
std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Status Examination::start() {
    if (!examines()) return {};
    RM_RETURN_IF_ERROR(parts_.meeting.everyone(open(), "evaluate"));
    RM_RETURN_IF_ERROR(check_same_tokenizer());
    const Status room = check_room();
    return room ? room : Status(within("evaluate", room.error()));
}

// The ranks make the same texts.
Status Examination::check_same_tokenizer() {
    const std::size_t mine = std::hash<std::string>()(tokenizer_->fingerprint());
    const std::vector<std::int64_t> all = parts_.meeting.gather(static_cast<std::int64_t>(mine));
    const auto other = std::ranges::find_if(all, [&](std::int64_t hash) { return hash != all[0]; });
    if (other == all.end()) return {};
    return invalid_argument("data.tokenizer {} has other tokens on rank {} than on rank 0",
                            tokenizer_->name(), other - all.begin());
}

Status Examination::open() {
    const JobSpec& job = parts_.config.spec;
    RM_TRY(tokenizer_, open_tokenizer(job.data.tokenizer));
    if (tokenizer_->vocabulary() > parts_.model.vocabulary) {
        return invalid_argument("the tokenizer {} has {} tokens, the model {}", job.data.tokenizer,
                                tokenizer_->vocabulary(), parts_.model.vocabulary);
    }
    if (tokenizer_->vocabulary() * 2 < parts_.model.vocabulary) {
        parts_.note(
            format("the texts of evaluate are made of the {} tokens of data.tokenizer {}, "
                   "and the model has {}",
                   tokenizer_->vocabulary(), job.data.tokenizer, parts_.model.vocabulary));
    }
    return encode_prompts();
}

Status Examination::encode_prompts() {
    for (const PromptSpec& prompt : spec().prompts) {
        RM_TRY(std::vector<TokenId> tokens, prompt_tokens(prompt.prompt, *tokenizer_));
        prompts_.push_back(std::move(tokens));
    }
    return {};
}

// By the model as the last stage leaves it, which has the longest context as a rule.
Status Examination::check_room() {
    const TrainedModel last =
        trained({.stage = static_cast<int>(parts_.config.spec.stages.size())});
    InferenceRoom largest = room(last, 0, 1);
    const auto take = [&](std::int64_t tokens, std::int64_t new_tokens) {
        largest.tokens = std::max(largest.tokens, tokens);
        largest.new_tokens = std::max(largest.new_tokens, new_tokens);
    };
    for (const SuiteSpec& suite : spec().suites)
        take(std::ranges::max(suite_lengths(suite, last.context)), suite_new_tokens(suite));
    for (std::size_t i = 0; i < prompts_.size(); ++i)
        take(std::ssize(prompts_[i]), spec().prompts[i].tokens);
    return check_inference(parts_.engine, parts_.meeting, largest);
}

TrainedModel Examination::trained(const TrainPosition& position) const {
    const JobSpec& job = parts_.config.spec;
    if (!parts_.only_evaluates()) return trained_model(job, parts_.model, position);
    TrainedModel trained{.model = parts_.model, .context = parts_.model.max_positions};
    if (parts_.trained) trained = *parts_.trained;
    if (has_own_rope(job.stages[0])) trained.model.rope = stage_rope(parts_.model, job, 0);
    if (trained.context == 0) trained.context = job.stages[0].context;
    return trained;
}

InferenceRoom Examination::room(const TrainedModel& trained, std::int64_t tokens,
                                std::int64_t new_tokens) const {
    return {.tokens = tokens,
            .new_tokens = new_tokens,
            .rope = trained.model.rope,
            .trained_context = trained.context,
            .memory = parts_.config.plan.memory};
}

// A rank may wait for another as long as three passes over the longest text take.
Status Examination::enter(const InferenceRoom& room) {
    constexpr double kPasses = 3;
    const auto tokens = static_cast<double>(room.tokens + room.new_tokens);
    const Seconds pass{parts_.estimated_seconds(tokens, tokens * tokens)};
    const Seconds planned = parts_.config.plan.collective_timeout;
    parts_.env.network.set_timeout({std::max(planned.value, kPasses * pass.value)});
    const Status entered = enter_inference(parts_.engine, parts_.meeting, room);
    parts_.env.progress.phase = Phase::evaluation;
    return entered;
}

MakeExaminer Examination::examiner(const TrainedModel& trained) {
    return [&](std::int64_t tokens, std::int64_t new_tokens) -> Result<Examiner> {
        RM_RETURN_IF_ERROR(enter(room(trained, tokens, new_tokens)));
        return model_examiner(parts_.engine, parts_.meeting, tokenizer_->end_of_document());
    };
}

bool Examination::asked_to_stop() {
    return parts_.meeting.sums({parts_.env.stop ? 1.0 : 0.0})[0] > 0;
}

Status Examination::run(const SuiteSpec& suite, const TrainedModel& trained, std::int64_t step) {
    const auto stop = [this](std::int64_t, std::int64_t) { return asked_to_stop(); };
    const SuiteRun how{examiner(trained), *tokenizer_, stop};
    RM_TRY(SuiteReport report, run_suite({suite, trained.context}, how));
    report.step = step;
    if (!parts_.is_first() || report.cells.empty()) return {};
    parts_.append_metrics(members_to_json(report).dump());
    parts_.env.observer.on_suite(report);
    return {};
}

Status Examination::continue_prompt(std::size_t index, const TrainedModel& trained,
                                    std::int64_t step) {
    const PromptSpec& prompt = spec().prompts[index];
    const std::vector<TokenId>& tokens = prompts_[index];
    RM_RETURN_IF_ERROR(enter(room(trained, std::ssize(tokens), prompt.tokens)));
    Generator generator(parts_.engine, parts_.meeting);
    TokenSampler sampler({prompt.temperature, prompt.top_p, prompt.seed});
    const ContinuationLimits limits{prompt.tokens, tokenizer_->end_of_document()};
    const std::vector<TokenId> added = rm::continue_prompt(generator, tokens, limits, sampler);
    RM_TRY(const std::string text, tokenizer_->decode(added, SpecialTokens::skip));
    parts_.note(format("step {} continues {} with {}", step, quoted(prompt.prompt), quoted(text)));
    return {};
}

// Fails on all ranks or on none: they enter stages together and make the same texts.
Status Examination::judge(const Status& status, const std::string& what) {
    if (status) return {};
    const Error error = within(what, status.error());
    if (parts_.only_evaluates()) return error;
    if (parts_.is_first()) parts_.env.observer.on_alarm("left out: " + error.message);
    return {};
}

Result<bool> Examination::examine(const RunState& state) {
    const std::int64_t step = state.position.step;
    const auto is_due = [&](std::int64_t every) { return state.finished() || state.due(every); };
    const TrainedModel model = trained(state.position);
    bool ran = false;
    for (std::size_t i = 0; i < spec().suites.size(); ++i) {
        const SuiteSpec& suite = spec().suites[i];
        if (!is_due(suite.every_steps)) continue;
        if (ran && asked_to_stop()) return ran;
        ran = true;
        RM_RETURN_IF_ERROR(judge(run(suite, model, step), format("evaluate.suites[{}]", i)));
    }
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
        if (!is_due(spec().every_steps)) break;
        if (ran && asked_to_stop()) return ran;
        ran = true;
        RM_RETURN_IF_ERROR(
            judge(continue_prompt(i, model, step), format("evaluate.prompts[{}]", i)));
    }
    return ran;
}

}  // namespace rm
