#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/units.h"
#include "cli/input/model_input.h"
#include "cli/show/text.h"
#include "cli/suite/suite_svg.h"
#include "cli/suite/suite_text.h"
#include "engine/evaluate/suite.h"

namespace rm {
namespace {

struct EvalOptions : ModelVerbOptions {
    std::string suite =
        add("--suite", suite, "What to examine [niah]", one_word_of("niah|ruler"), "niah");
    std::vector<std::string> lengths =
        add("--lengths", lengths,
            "Tokens of a text, such as 4K [a quarter, a half and all of the trained context]",
            {.type = "N"});
    std::int64_t samples =
        add("--samples", samples, "Texts of each field of the table [niah 4, ruler 10]",
            number_from(1), 0);
    std::uint64_t seed = add("--seed", seed, "Of the texts", {.type = "N"}, 1);
    std::int64_t depths =
        add("--depths", depths, "niah: places of the needle in the hay [5]", number_from(1), 5);
    std::int64_t distractors = add("--distractors", distractors,
                                   "niah: needles that are not asked for", number_from(0), 0);
    std::int64_t digits =
        add("--digits", digits, "niah: of a needle's number [4]", number_from(1), 4);
    std::vector<std::string> tasks =
        add("--task", tasks, "ruler: tasks [all 11]", {.type = "NAME"});
    std::string essay =
        add("--essay", essay, "ruler: text that hides the needles of some tasks [its noise]",
            {.type = "FILE"});
    OutputFormat output = add_output(output, "table|json|yaml|svg");
};

Result<SuiteSpec> suite_of(const EvalOptions& options, const TrainedModel& trained) {
    SuiteSpec suite{.depths = static_cast<int>(options.depths),
                    .samples = static_cast<int>(options.samples),
                    .distractors = static_cast<int>(options.distractors),
                    .digits = static_cast<int>(options.digits),
                    .tasks = options.tasks,
                    .seed = options.seed};
    RM_RETURN_IF_ERROR(parse_name(options.suite, suite.suite));
    for (const std::string& text : options.lengths) {
        const auto length = parse_count(text, Suffix::binary);
        if (!length) return within("--lengths", length.error());
        suite.lengths.push_back(*length);
    }
    if (suite.lengths.empty() && trained.context == 0)
        return invalid_argument("the model does not record its context: give --lengths");
    RM_RETURN_IF_ERROR(within("--suite " + options.suite, check_suite(suite)));
    return suite;
}

Result<std::string> essay_of(const EvalOptions& options) {
    if (options.essay.empty()) return std::string();
    std::ifstream file(options.essay, std::ios::binary);
    std::string essay(std::istreambuf_iterator<char>(file), {});
    if (!essay.empty()) return essay;
    return make_error(ErrorCode::not_found, "--essay: cannot read {}", options.essay);
}

// Examines the model itself.
MakeExaminer examiner_of(LocalModel& model) {
    return [&model](std::int64_t tokens, std::int64_t new_tokens) -> Result<Examiner> {
        RM_RETURN_IF_ERROR(model.make_room(tokens, new_tokens));
        return model_examiner(model.engine(), model.meeting(), model.tokenizer().end_of_document());
    };
}

// Says how far it is on a terminal's stderr.
Result<SuiteReport> examine_model(const EvalOptions& options, LocalModel& model,
                                  const Signals& signals, Console& console) {
    RM_TRY(const SuiteSpec suite, suite_of(options, model.trained()));
    RM_TRY(const std::string essay, essay_of(options));
    const Stopwatch watch;
    double said = 0;
    const auto stop = [&](std::int64_t done, std::int64_t all) {
        if (watch.seconds() > said + 10) {
            said = watch.seconds();
            console.note(format("{} of {} fields in {}", done, all, Seconds{said}));
        }
        return signals.token().stop_requested();
    };
    return run_suite({suite, model.trained().context, essay},
                     {examiner_of(model), model.tokenizer(), stop});
}

std::string suite_json(const LocalModel& model, const SuiteReport& report) {
    nlohmann::ordered_json out = {{"model", model.path()},
                                  {"suite", report.suite},
                                  {"trainedContext", report.trained_context},
                                  {"effectiveLength", report.effective_length},
                                  {"seconds", report.seconds}};
    nlohmann::ordered_json& list = out["cells"] = nlohmann::ordered_json::array();
    for (const SuiteCell& cell : report.cells) {
        list.push_back({{"task", cell.task},
                        {"length", cell.length},
                        {"depth", cell.depth},
                        {"samples", cell.samples},
                        {"score", cell.score},
                        {"loss", cell.loss}});
    }
    return out.dump();
}

void print(const EvalOptions& options, const SuiteReport& report, const LocalModel& model,
           const Output& out) {
    if (options.output == OutputFormat::svg) {
        out.stream << suite_svg(report);
    } else if (options.output == OutputFormat::table) {
        print_suite(out, report, "");
    } else {
        print_json(out.stream, suite_json(model, report), options.output);
    }
}

Result<ExitCode> run_eval(const EvalOptions& options, VerbContext& context) {
    Signals signals;  // before any thread
    RM_TRY(const std::unique_ptr<LocalModel> model, open_model(options, signals, context));
    RM_TRY(const SuiteReport report, examine_model(options, *model, signals, context.console));
    print(options, report, *model, context.console.out);
    return signals.token().stop_requested() ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

Verb eval_verb() {
    return verb_of(
        "eval", "Examine a trained model, on this machine", run_eval,
        {{"ringmaster eval a1b2c3 --lengths 4K --lengths 64K --depths 10",
          "needles in a haystack, of the newest checkpoint of a job"},
         {"ringmaster eval my-model --suite ruler --lengths 4K --task vt --task cwe", ""}});
}

}  // namespace rm
