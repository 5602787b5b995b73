#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "service/job_file/job_file.h"
#include "service/job_file/recipes.h"

namespace rm {
namespace {

struct ListRecipesOptions : VerbOptions {};

std::string contexts_of(const JobSpec& spec) {
    std::string contexts;
    for (const StageSpec& stage : spec.stages)
        contexts += (contexts.empty() ? "" : " ") + context_text(stage.context);
    return contexts;
}

std::int64_t tokens_of(const JobSpec& spec) {
    std::int64_t tokens = 0;
    for (const StageSpec& stage : spec.stages)
        tokens += stage.num_steps() * stage.batch;
    return tokens;
}

Result<ExitCode> run_list(const ListRecipesOptions&, VerbContext& context) {
    Table table({{"NAME"},
                 {"MODEL"},
                 {"CONTEXTS"},
                 {"STEPS", Align::right},
                 {"TOKENS", Align::right},
                 {"ABOUT", Align::left, 1}});
    for (const Recipe& recipe : kRecipes) {
        RM_TRY(const JobSpec spec, parse_job_file(recipe.text, recipe.name));
        table.add({std::string(recipe.name), spec.model.preset, contexts_of(spec),
                   grouped(spec.num_steps()), grouped(tokens_of(spec)),
                   std::string(recipe.about())});
    }
    table.print(context.console.out);
    return ExitCode::ok;
}

struct ShowRecipeOptions : VerbOptions {
    std::string name = add("NAME", name, "A recipe of `recipe ls`", required_text());
};

Result<ExitCode> run_show(const ShowRecipeOptions& options, VerbContext& context) {
    RM_TRY(const Recipe recipe, find_recipe(options.name));
    context.console.out.stream << recipe.text;
    return ExitCode::ok;
}

}  // namespace

Verb recipe_verb() {
    return {"recipe",
            "Published schedules of stages",
            nullptr,
            {verb_of("ls", "List the recipes", run_list, {{"ringmaster recipe ls", ""}}),
             verb_of("show", "Print a recipe as a job file", run_show,
                     {{"ringmaster recipe show gradient-8b-1m", "a job file to change"}})}};
}

}  // namespace rm
