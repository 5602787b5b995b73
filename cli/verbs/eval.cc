#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/units.h"
#include "cli/input/model_input.h"
#include "cli/show/text.h"
#include "cli/suite/suite_svg.h"
#include "cli/suite/suite_text.h"
#include "engine/evaluate/niah.h"
#include "engine/evaluate/ruler.h"

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

Result<std::vector<std::int64_t>> lengths_of(const EvalOptions& options,
                                             const TrainedModel& trained) {
    std::vector<std::int64_t> lengths;
    for (const std::string& text : options.lengths) {
        const auto length = parse_count(text, Suffix::binary);
        if (!length) return within("--lengths", length.error());
        lengths.push_back(*length);
    }
    if (!lengths.empty()) return lengths;
    if (trained.context == 0)
        return invalid_argument("the model does not record its context: give --lengths");
    return std::vector{trained.context / 4, trained.context / 2, trained.context};
}

Result<NiahSpec> niah_spec(const EvalOptions& options, const TrainedModel& trained) {
    NiahSpec spec;
    RM_TRY(spec.lengths, lengths_of(options, trained));
    spec.depths = static_cast<int>(options.depths);
    if (options.samples > 0) spec.samples = static_cast<int>(options.samples);
    spec.distractors = static_cast<int>(options.distractors);
    spec.digits = static_cast<int>(options.digits);
    spec.seed = options.seed;
    RM_RETURN_IF_ERROR(check_niah(spec));
    return spec;
}

Result<RulerSpec> ruler_spec(const EvalOptions& options, const TrainedModel& trained) {
    RulerSpec spec{.tasks = options.tasks, .seed = options.seed};
    RM_TRY(spec.lengths, lengths_of(options, trained));
    if (options.samples > 0) spec.samples = static_cast<int>(options.samples);
    if (!options.essay.empty()) {
        std::ifstream file(options.essay, std::ios::binary);
        spec.essay.assign(std::istreambuf_iterator<char>(file), {});
        if (spec.essay.empty())
            return make_error(ErrorCode::not_found, "--essay: cannot read {}", options.essay);
    }
    RM_RETURN_IF_ERROR(check_ruler(spec));
    return spec;
}

// Examines the model itself.
MakeExaminer examiner_of(LocalModel& model) {
    return [&model](std::int64_t tokens, std::int64_t new_tokens) -> Result<Examiner> {
        RM_RETURN_IF_ERROR(model.make_room(tokens, new_tokens));
        const auto generator = std::make_shared<Generator>(model.engine(), model.meeting());
        const auto end = model.tokenizer().end_of_document();
        return Examiner([generator, end](const ProblemTokens& problem, std::int64_t count) {
            return examine(*generator, problem, count, end);
        });
    };
}

// Says how far it is on a terminal's stderr.
Result<std::vector<SuiteCell>> run_suite(const EvalOptions& options, LocalModel& model,
                                         const Signals& signals, Console& console) {
    const Stopwatch watch;
    double said = 0;
    const auto stop = [&](std::int64_t done, std::int64_t all) {
        if (watch.seconds() > said + 10) {
            said = watch.seconds();
            console.note(format("{} of {} fields in {}", done, all, Seconds{said}));
        }
        return signals.token().stop_requested();
    };
    const SuiteRun run{examiner_of(model), model.tokenizer(), stop};
    if (options.suite == "ruler") {
        RM_TRY(const RulerSpec spec, ruler_spec(options, model.trained()));
        return run_ruler(spec, run);
    }
    RM_TRY(const NiahSpec spec, niah_spec(options, model.trained()));
    return run_niah(spec, run);
}

std::string suite_json(const LocalModel& model, const std::vector<SuiteCell>& cells) {
    nlohmann::ordered_json out = {{"model", model.path()},
                                  {"trainedContext", model.trained().context}};
    nlohmann::ordered_json& list = out["cells"] = nlohmann::ordered_json::array();
    for (const SuiteCell& cell : cells) {
        list.push_back({{"task", cell.task},
                        {"length", cell.length},
                        {"depth", cell.depth},
                        {"samples", cell.samples},
                        {"score", cell.score},
                        {"loss", cell.loss}});
    }
    return out.dump();
}

void print_suite(const EvalOptions& options, const std::vector<SuiteCell>& cells,
                 const LocalModel& model, const Output& out) {
    const SuiteGrid grid(cells);
    const std::int64_t trained = model.trained().context;
    const bool ruler = options.suite == "ruler";
    if (options.output == OutputFormat::svg) {
        out.stream << grid_svg(grid, ruler ? "RULER" : "needle in a haystack", trained);
    } else if (options.output != OutputFormat::table) {
        print_json(out.stream, suite_json(model, cells), options.output);
    } else {
        print_grid(out, grid, ruler ? "TASK" : "DEPTH", trained);
        const std::int64_t effective = effective_length(cells);
        if (ruler) {
            out.stream << format("effective length ({:.1} % or more): {}\n", 100 * kRulerThreshold,
                                 effective > 0 ? context_text(effective) : "none of these");
        }
    }
}

Result<ExitCode> run_eval(const EvalOptions& options, VerbContext& context) {
    Signals signals;  // before any thread
    RM_TRY(const std::unique_ptr<LocalModel> model, open_model(options, signals, context));
    RM_TRY(const std::vector<SuiteCell> cells,
           run_suite(options, *model, signals, context.console));
    print_suite(options, cells, *model, context.console.out);
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
